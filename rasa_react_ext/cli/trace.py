"""`rasa-react trace`: the record of a conversation as a page to look at."""

from __future__ import annotations

from pathlib import Path

import click

from rasa_react_ext.cli.page import build_page, read_record

__all__ = ["command"]


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
    page = build_page(read_record(record), title=f"Conversation {record.stem}")
    target = output or record.with_suffix(".html")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    click.echo(f"Wrote {target}")
