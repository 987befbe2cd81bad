# One command per job; each does all set-up itself.   make help

PYTHON ?= python3
PYTEST_ARGS ?=

# Each holds a host and trained projects of its own; most of the time goes into waiting.
TEST_PROCESSES ?= 4
IN_PROCESSES := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

# Lines and branches that the tests must reach, in per cent.
ENGINE_COVERAGE := 100
PACKAGE_COVERAGE := 90

PY := .venv/bin/python

export PYTHON
# The host and its LLM layer would otherwise send usage data and fetch price lists.
export RASA_TELEMETRY_ENABLED ?= false
export LITELLM_LOCAL_MODEL_COST_MAP ?= True
export PYTHONUNBUFFERED := 1
# Where compiled files are not kept, each of the many processes compiles the whole host again.
unexport PYTHONDONTWRITEBYTECODE
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup demo chat test test-full faults soak bench format lint types layers \
	dependencies unit coverage docs wheel lock clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

setup: ## build .venv, only where something changed
	@sh scripts/setup.sh

demo: setup ## train the sample and play a whole conversation
	@$(PY) -m demo.play

chat: setup ## talk to the sample in the terminal
	@$(PY) -m demo.chat

test: lint types layers dependencies unit ## every check

test-full: lint types layers dependencies coverage ## every check, slow variants and the whole coverage included

faults: setup ## processes killed and connections cut under load
	$(PY) -m pytest -m faults $(PYTEST_ARGS) tests

soak: setup ## long runs that watch memory, tasks and sessions
	$(PY) -m pytest -m soak $(PYTEST_ARGS) tests

bench: setup ## measure this engine beside the host's
	@$(PY) -m benchmarks

format: setup ## rewrite the code in the house format
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix --exit-zero --quiet .

lint: setup ## format, lint rules and spelling
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m codespell_lib

types: setup ## static types
	$(PY) -m basedpyright

layers: setup ## who may import whom
	.venv/bin/lint-imports --no-logo pyproject.toml

dependencies: setup ## declared against imported packages
	$(PY) -m deptry .

unit: setup ## tests, and the coverage of the engine by its own
	$(PY) -m coverage run -m pytest $(PYTEST_ARGS) tests/engine
	@$(PY) -m coverage report --include='rasa_react_ext/engine/*' --fail-under=$(ENGINE_COVERAGE) \
		--format=total >/dev/null || { echo 'coverage of rasa_react_ext/engine is under $(ENGINE_COVERAGE) %' >&2; exit 2; }
	$(PY) -m pytest $(IN_PROCESSES) $(PYTEST_ARGS) --ignore tests/engine tests

coverage: setup ## all tests with coverage, which takes them more than twice as long
	$(PY) -m pytest $(IN_PROCESSES) --cov --cov-report= -m "not faults and not soak" $(PYTEST_ARGS) tests
	@$(PY) -m coverage report --fail-under=$(PACKAGE_COVERAGE)

docs: setup ## write the tables of all settings into the pages, from the code that reads them
	@$(PY) -W ignore -m scripts.settings_reference

wheel: setup ## build the wheel into dist/ and check that it installs
	$(PY) -m hatchling build -t wheel -d dist
	$(PY) -m pytest tests/project/test_wheel.py

lock: setup ## pin what pyproject.toml asks for; newer releases with LOCK_ARGS=--upgrade
	$(PY) -m uv pip compile --universal --python-version 3.11 --extra dev --no-emit-index-url \
		--no-annotate --no-header --quiet $(LOCK_ARGS) --output-file requirements.txt pyproject.toml

clean: ## remove what the commands made, except .venv
	rm -rf dist build models .rasa .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
