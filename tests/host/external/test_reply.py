"""What of an agent's reply is still to be said."""

from __future__ import annotations

import pytest
from a2a.helpers import new_text_message
from a2a.types import Artifact, Part, Task, TaskStatus

from rasa_react_ext.host.external.reply import full_reply, unsent_reply

pytestmark = pytest.mark.host


def task(status: str, *artifacts: str) -> Task:
    found = Task(artifacts=[Artifact(artifact_id=t, parts=[Part(text=t)]) for t in artifacts])
    if status:
        found.status.CopyFrom(TaskStatus(message=new_text_message(status)))
    return found


@pytest.mark.parametrize(
    ("status", "artifacts", "reply"),
    [
        ("Done.", (), "Done."),
        ("", ("Report.",), "Report."),
        ("Done.", ("Report.",), "Done.\nReport."),
        ("Report.", ("Report.",), "Report."),
        ("Here it is:\n\nReport.\nWith two lines.", ("Report.\nWith two lines.",),
         "Here it is:\n\nReport.\nWith two lines."),
        ("", ("Same.", "Same."), "Same."),
        ("Nothing found.", ("No",), "Nothing found.\nNo"),
    ],
)  # fmt: skip
def test_status_and_artifacts_are_one_reply_with_each_text_once(
    status: str, artifacts: tuple[str, ...], reply: str
) -> None:
    assert full_reply(task(status, *artifacts)) == reply


@pytest.mark.parametrize(
    ("reply", "shown", "unsent"),
    [
        ("Done.", [], None),
        ("Done.", ["Working."], "Done."),
        ("Done.", ["Done."], ""),
        ("One.\n\nTwo.\n\nThree.", ["One.", "Two."], "Three."),
        ("OK\n\nOK", ["OK"], "OK"),
        ("A  b\nc", ["A b"], "c"),
        ("One.\nTwo.\nThree.", ["Two.\nThree."], "One."),
        ("One.\n\nTwo.\n\nThree.", ["Two."], "One.\n\nThree."),
    ],
)
def test_what_was_shown_on_the_way_is_left_out_once(
    reply: str, shown: list[str], unsent: str | None
) -> None:
    assert unsent_reply(reply, shown) == unsent
