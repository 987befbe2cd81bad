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
    "b01": (
        "When the model calls are used up, one closing call tells the user where things stand; "
        "slots and history stay valid."
    ),
    "b03": (
        "The same call with the same result three times ends the run early; a poll whose "
        "results change goes on."
    ),
    "b05": (
        "An unknown tool is answered with an error that names the tools there are; valid "
        "siblings run."
    ),
    "b06": (
        "A blank answer, one of thinking only included, is asked for again a few times and "
        "never stored or spoken."
    ),
    "b07": (
        "Exit conditions are looked at once after the whole batch, whatever the order of its calls."
    ),
    "b09": (
        "A finishing tool called twice in one answer has one effect, and both calls are answered."
    ),
    "b10": (
        "One failing call of a batch leaves the results of its siblings as they are, in call order."
    ),
    "b11": (
        "Tools of an interrupted run are not run again when it resumes; the model sees their "
        "results."
    ),
    "b13": "Absent, empty and null arguments are read as an empty object.",
    "b14": (
        "A call with malformed arguments is not run and is answered with what is wrong; its "
        "siblings run."
    ),
    "b16": "The history never holds an argument string that is not valid JSON.",
    "b17": "No call of an answer cut off by the output limit is run; each is answered.",
    "b18": (
        "An answer cut off in the middle of its arguments is not run, whatever finish reason "
        "was given."
    ),
    "b19": (
        "Arguments sent as strings are converted where the schema says so and the value then fits."
    ),
    "b20": (
        "A slot value is converted by slot type; one that does not fit is refused and the slot "
        "keeps its value."
    ),
    "b23": "The history is trimmed only between complete groups of calls and results.",
    "b24": (
        "Every call in a request has exactly one result, directly after it, also after an early"
        " stop."
    ),
    "b25": "Missing and repeated call ids are made unique; call and result carry the same one.",
    "b27": "A request has one system message, and it is the first.",
    "b29": "Empty text beside tool calls is left out of the request.",
    "b30": "A request never ends with an assistant message.",
    "b31": (
        "A request whose history has tool calls always carries the list of tools; forbidden "
        "calls are not run."
    ),
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
    "b46": "A tool without parameters is offered with a complete empty object schema.",
    "b47": "Strict mode is decided per tool and never changes the original schema.",
    "b49": (
        "A tool with a free-form object is offered without strict mode, and free keys reach the"
        " server."
    ),
    "b50": (
        "For a provider that takes a part of JSON Schema, references, unions and constants are "
        "rewritten for it alone."
    ),
    "b52": "A call that meets a lost session is repeated once on a new one, unseen by the model.",
    "b54": "Calls that meet the same lost session share one reconnect.",
    "b55": (
        "Sessions can be closed in any order, twice, and before they are open, without an error."
    ),
    "b56": (
        "A server that dies during a call gives a tool error that says so, and the next call "
        "reconnects."
    ),
    "b58": (
        "A lost call is repeated only where that is harmless; otherwise the model hears that "
        "its outcome is unknown."
    ),
    "b60": "A cancelled call tells the server, and a failing notification hides nothing.",
    "b62": "No child process of a stdio server is left behind, on any path.",
    "b63": "A server that is down takes away its own tools only; it is named and tried again.",
    "b64": "All pages of a tool list are read.",
    "b66": (
        "A changed tool list is in force at the next step, and a failed refresh keeps the old one."
    ),
    "b67": (
        "Credentials are renewed during a long connection, once for all, without a loop and "
        "without a trace in logs."
    ),
    "b69": "Progress may extend the idle limit of a call but never its total limit.",
    "b70": "A result marked as an error is an error for the model and is no structured result.",
    "b71": "Structured content reaches the model where text is missing, and the project unchanged.",
    "b72": "A result is shown as plain text, its blocks joined by line breaks.",
    "b73": (
        "Embedded resources, links and binary parts are shown as text, and unknown parts do no "
        "harm."
    ),
    "b76": "The model sees a large result shortened with a note; the project sees all of it.",
    "b78": "A reply reaches the task that waits for it, with its task and context id.",
    "b79": "A message to a finished or forgotten task begins a new one, once.",
    "b81": "A streamed artifact is shown once: chunks are joined, a whole task replaces them.",
    "b83": "One deadline covers send, stream and polling of a remote task.",
    "b84": (
        "A task that still works is asked about with growing pauses; an error in between is "
        "tried again."
    ),
    "b85": (
        "A card is found at a full address, in a file, or under a base address, with "
        "credentials; what was tried is listed."
    ),
    "b87": "Every task state in both spellings has an outcome; an unknown one is bounded.",
    "b89": "The check at start reads the card and opens no task.",
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
    "b102": "Braces in user text, slots and tool results are data and are never rendered.",
    "b103": (
        "A prompt template that fails on a conversation's values gives way to the default one, "
        "and the conversation goes on."
    ),
    "b104": "Date and time are those of the configured zone at each model call.",
    "d1": (
        "One line binds every sub agent of a project, at any load and reload, without touching "
        "the host."
    ),
    "d2": (
        "One agent class serves both kinds of step, keeps users' hooks and names, and leaves "
        "the host's events."
    ),
    "d3_1": (
        "Budgets are per turn, below the lifetime of the conversation's lock; larger times are "
        "clamped."
    ),
    "d3_2": (
        "The calls of one answer run at once up to the limit; results go back in call order, "
        "each id once."
    ),
    "d3_3": (
        "Exit conditions are evaluated before the first model call and after each batch; wiped "
        "slots come back."
    ),
    "d3_4": (
        "Slot values are converted and checked by slot type; a slot keeps its tool whatever "
        "hooks remove."
    ),
    "d3_5": (
        "A task-specific run completes only when its conditions hold, a general-purpose one "
        "only by its finishing tool."
    ),
    "d3_6": (
        "A budget that ran out leads to a closing call and to input required, or to failure "
        "where so configured."
    ),
    "d3_7": (
        "What a run learnt is kept across turns, unseen by others; nothing that was executed "
        "runs twice."
    ),
    "d3_8": "Requests to the model are valid for strict providers.",
    "d3_9": "Events are recorded in true order, and what the user saw is what is recorded.",
    "d3_10": "Cancellation stops model and tools at once and leaves a valid history.",
    "d4": (
        "A server that is down at the start takes away its tools until it comes up, and nothing"
        " else."
    ),
    "d4_1": (
        "A server's question to the user ends the turn, the call stays open for a bounded time, "
        "and the next message answers it, also after a digression."
    ),
    "d4_2": (
        "A server's question to a model is declined unless the agent allows it, and is bounded in "
        "number and length."
    ),
    "d4_3": (
        "Users hear of a call's progress where the project wants that, now and then, as fillers."
    ),
    "d5": (
        "A tool that declares itself destructive runs only after a clear yes to exactly this "
        "call, where the project wants that."
    ),
    "d6": "Settings are strict and have their homes; the most specific value wins.",
    "d7": (
        "External agents: outcomes shown once and recorded as the host records them, hooks, ids"
        " and sharing as documented, background tasks applied once, guarded or free."
    ),
    "d8": "A caller's context is a dialogue of its own, named by both.",
    "d9": (
        "The PostgreSQL lock store is exclusive among processes, first come first served, and "
        "lets go of killed ones."
    ),
}
