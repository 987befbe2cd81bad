#!/bin/sh
# Builds .venv from requirements.txt and installs this package into it.
# Does nothing when its inputs have not changed since the last run.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.9
PYTHON=${PYTHON:-python3}
venv=.venv

# Whatever is activated or configured for another project stays out of this one.
unset VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME UV_SYSTEM_PYTHON UV_PYTHON UV_PROJECT_ENVIRONMENT
unset PIP_USER PIP_TARGET PIP_PREFIX

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

command -v "$PYTHON" >/dev/null 2>&1 ||
    fail "no '$PYTHON' found; install Python 3.11, 3.12 or 3.13, or name one: make setup PYTHON=/path/to/python3"
version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
    fail "'$PYTHON' does not run; name another: make setup PYTHON=/path/to/python3"
case $version in
3.11 | 3.12 | 3.13) ;;
*) fail "'$PYTHON' is Python $version, needed is 3.11, 3.12 or 3.13; name one: make setup PYTHON=/path/to/python3" ;;
esac

# A virtual environment knows its interpreter and its own path, so it outlives neither.
environment=$(printf '%s\n%s' "$version" "$PWD")
inputs=$(cat requirements.txt pyproject.toml scripts/setup.sh | cksum)

if [ "$(cat $venv/.environment 2>/dev/null)" != "$environment" ] || ! $venv/bin/python -c '' 2>/dev/null; then
    say "making $venv with Python $version"
    "$PYTHON" -m venv --clear $venv >/dev/null ||
        fail "'$PYTHON -m venv' failed; on Debian and Ubuntu: apt install python3-venv"
    printf '%s\n' "$environment" >$venv/.environment
fi

[ "$(cat $venv/.installed 2>/dev/null)" = "$inputs" ] && exit 0
rm -f $venv/.installed

if [ "$($venv/bin/python -m uv --version 2>/dev/null | cut -d ' ' -f 2)" != "$UV_VERSION" ]; then
    say "installing uv $UV_VERSION"
    $venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
fi
# uv does not read pip's settings: who configured an index for pip alone gets it for uv too.
if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}${UV_CONFIG_FILE:-}" ] &&
    [ ! -f "${XDG_CONFIG_HOME:-$HOME/.config}/uv/uv.toml" ]; then
    index=${PIP_INDEX_URL:-$($venv/bin/python -m pip config get global.index-url 2>/dev/null || true)}
    [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
fi
say "installing $(grep -c == requirements.txt) pinned packages; the first time takes some minutes"
$venv/bin/python -m uv pip install --python $venv/bin/python --requirement requirements.txt
$venv/bin/python -m uv pip install --python $venv/bin/python --quiet --no-deps --no-build-isolation --editable .
printf '%s\n' "$inputs" >$venv/.installed
say "ready"
