"""`rasa-react trace`: the record of a conversation as a page to look at."""

from __future__ import annotations

from pathlib import Path

import click

from rasa_react_ext.cli.failure import RefusedError
from rasa_react_ext.cli.page import build_page, read_record

__all__ = ["command"]

_SHOWN = 10


@click.command("trace")
@click.argument("record", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write the page. Default: beside the record, with the ending .html.",
)
def command(record: Path, output: Path | None) -> None:
    """Draw RECORD, a .jsonl file of the trace folder, as one HTML page.

    The page needs no network. Switch the record on with `trace_folder` under
    `rasa_react_ext:` in endpoints.yml.
    """
    target = output or record.with_suffix(".html")
    if _is_same(record, target):
        raise click.BadParameter(
            f"{str(target)!r} is the record itself. Name another file.", param_hint="--output"
        )
    page = build_page(read_record(record, _tell), title=f"Conversation {record.stem}")
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RefusedError(target, error, "Name another file with --output.") from error
    click.echo(f"Wrote {target}")


def _is_same(record: Path, target: Path) -> bool:
    """Whether both are one file, also by a link or another spelling."""
    try:
        return target.samefile(record)
    except OSError:
        return False


def _tell(left_out: list[int]) -> None:
    shown = ", ".join(map(str, left_out[:_SHOWN]))
    more = f" and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
    lines, are = ("line", "is") if len(left_out) == 1 else ("lines", "are")
    click.echo(
        f"Warning: {lines} {shown}{more} {are} cut or broken, and left out.",
        err=True,
    )
