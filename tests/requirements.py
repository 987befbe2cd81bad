"""Promised behaviours, each tied to tests in both directions.

An id stands at the beginning of the name of every test that proves it:
`test_b14_...` proves `b14`, `test_d3_1_...` proves `d3_1`. No id may be without a
test, no test may name an id that is not here; `tests/project/test_requirements.py`
checks both.

`b…` are known faults of agent systems, numbered as in the list of cases the project
works from; `d…` are decisions, numbered as in `docs/design.md`.
"""

from __future__ import annotations

__all__ = ["REQUIREMENTS"]

REQUIREMENTS: dict[str, str] = {
    "b06": (
        "A blank answer, one of thinking only included, is asked for again a few times and "
        "never stored or spoken."
    ),
    "b13": "Absent, empty and null arguments are read as an empty object.",
    "b32": (
        "Tool parameters are sent only beside a tool list that is not empty, to models that "
        "take them."
    ),
    "b33": "Opaque provider fields are kept and sent back unchanged to the same provider.",
    "b34": (
        "An answer stopped by a content filter is neither spoken nor stored, and the next turn "
        "works."
    ),
    "b37": "Streamed fragments of parallel calls are joined by their index.",
    "b38": (
        "Id, name and arguments of a streamed call are taken whenever they come, and never blanked."
    ),
    "b41": "Tools of one name from two servers get distinct names, each routed to its own server.",
    "b43": (
        "Tool names are mapped to what every provider accepts, and back for the server and the "
        "filters."
    ),
    "b45": "A tool name that is too long is shortened uniquely, the same in each process.",
    "b52": "A call that meets a lost session is repeated once on a new one, unseen by the model.",
    "b54": "Calls that meet the same lost session share one reconnect.",
    "b56": (
        "A server that dies during a call gives a tool error that says so, and the next call "
        "reconnects."
    ),
    "b58": (
        "A lost call is repeated only where that is harmless; otherwise the model hears that "
        "its outcome is unknown."
    ),
    "b60": "A cancelled call tells the server, and a failing notification hides nothing.",
    "b63": "A server that is down takes away its own tools only; it is named and tried again.",
    "b78": "A reply reaches the task that waits for it, with its task and context id.",
    "b79": "A message to a finished or forgotten task begins a new one, once.",
    "b81": "A streamed artifact is shown once: chunks are joined, a whole task replaces them.",
    "b83": "One deadline covers send, stream and polling of a remote task.",
    "b84": (
        "A task that still works is asked about with growing pauses; an error in "
        "between is tried again."
    ),
    "b85": (
        "A card is found at a full address, in a file, or under a base address, "
        "with credentials; what was tried is listed."
    ),
    "b87": "Every task state in both spellings has an outcome; an unknown one is bounded.",
    "b89": "The check at start reads the card and opens no task.",
    "b103": (
        "A prompt template that fails on a conversation's values gives way to the "
        "default one, and the conversation goes on."
    ),
    "d1": (
        "One line binds every sub agent of a project, at any load and reload, without "
        "touching the host."
    ),
    "d2": (
        "One agent class serves both kinds of step, keeps users' hooks and names, and "
        "leaves the host's events."
    ),
    "d3_1": (
        "Budgets are per turn, below the lifetime of the conversation's lock; larger "
        "times are clamped."
    ),
    "d3_3": (
        "Exit conditions are evaluated before the first model call and after each batch; "
        "wiped slots come back."
    ),
    "d3_4": (
        "Slot values are converted and checked by slot type; a slot keeps its tool "
        "whatever hooks remove."
    ),
    "d3_7": (
        "What a run learnt is kept across turns, unseen by others; nothing that was "
        "executed runs twice."
    ),
    "d3_9": "Events are recorded in true order, and what the user saw is what is recorded.",
    "d4": (
        "A server that is down at the start takes away its tools until it comes up, and "
        "nothing else."
    ),
    "d6": "Settings are strict and have their homes; the most specific value wins.",
    "b90": (
        "A message sent again gets the same task and no second turn; another one under its id "
        "is a conflict."
    ),
    "b91": (
        "Every request may go to any process: tasks are changed by compare-and-set in one store."
    ),
    "b92": "Pushes go to public addresses only, checked at registration and at each connection.",
    "b94": "A client that goes away does not stop its turn; it can read or follow the task later.",
    "b95": "A cancel stops the work and leaves the flow; an ended task is not cancelable.",
    "b96": "Another caller's task is as unknown as one that does not exist, for every operation.",
    "b99": (
        "A turn that breaks, hangs or loses its process leaves an ended task, and the next works."
    ),
    "b101": (
        "A stream's pieces belong to one artifact, the last is marked, and the text is a send's."
    ),
    "d8": "A caller's context is a dialogue of its own, named by both.",
}
