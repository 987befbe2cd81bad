"""The OpenAI chat-completions wire format: bodies, stream chunks and errors.

Builds plain values only; sending them is the server's business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rasa_react_ext.testing.render import Rendered

__all__ = ["completion", "content_filter_error", "encode", "error_body", "events", "models"]

_STATUS_TYPES = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "permission_denied"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}


def encode(value: Any) -> bytes:
    """The value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def error_body(
    message: str, *, status: int = 400, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    """An error in OpenAI's shape, with the type that goes with the status."""
    usual = ("server_error", None) if status >= 500 else ("invalid_request_error", None)
    kind, usual_code = _STATUS_TYPES.get(status, usual)
    return {"error": {"message": message, "type": kind, "param": param, "code": code or usual_code}}


def content_filter_error(category: str = "hate") -> dict[str, Any]:
    """A refused prompt in Azure OpenAI's shape (status 400, code `content_filter`)."""
    body = error_body(
        "The prompt was refused by the content filter. Change the prompt and try again.",
        code="content_filter",
        param="prompt",
    )
    body["error"]["status"] = 400
    body["error"]["innererror"] = {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {category: {"filtered": True, "severity": "high"}},
    }
    return body


def models(name: str) -> dict[str, Any]:
    """The answer of `GET /v1/models`."""
    model = {"id": name, "object": "model", "created": 0, "owned_by": "rasa_react_ext"}
    return {"object": "list", "data": [model]}


def completion(answer: Rendered, envelope: Mapping[str, Any], prompt_chars: int) -> dict[str, Any]:
    """The body of a response that is not streamed.

    Args:
        answer: What to say.
        envelope: `id`, `created` and `model` of the response.
        prompt_chars: Size of the request, from which the usage is estimated.
    """
    written = answer.written
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = list(answer.calls)
    if written.refusal is not None:
        message["refusal"] = written.refusal
    if written.reasoning is not None:
        message["reasoning_content"] = written.reasoning
    message.update(written.extra)
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    body = {**envelope, "object": "chat.completion", "choices": [choice]}
    if written.usage.reported:
        body["usage"] = _usage(answer, prompt_chars)
    return body


def events(
    answer: Rendered, envelope: Mapping[str, Any], prompt_chars: int, *, include_usage: bool
) -> Iterator[bytes]:
    """The server-sent events of a streamed response, `[DONE]` included."""
    base: dict[str, Any] = {**envelope, "object": "chat.completion.chunk"}
    if include_usage:
        base["usage"] = None
    deltas = answer.written.stream.deltas
    for delta in _deltas(answer) if deltas is None else deltas:
        yield _event(base, delta)
    if not _finished(deltas):
        yield _event(base, {"choices": [_choice({}, answer.finish_reason)]})
    if include_usage and answer.written.usage.reported:
        yield _event(base, {"choices": [], "usage": _usage(answer, prompt_chars)})
    yield b"data: [DONE]\n\n"


def _event(base: Mapping[str, Any], delta: Mapping[str, Any] | str) -> bytes:
    """One event: a delta, a whole chunk (it has `choices`), or a raw line."""
    if isinstance(delta, str):
        return f"{delta}\n\n".encode()
    chunk = {**base, **delta} if "choices" in delta else {**base, "choices": [_choice(delta, None)]}
    return b"data: " + encode(chunk) + b"\n\n"


def _choice(delta: Mapping[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _finished(deltas: tuple[dict[str, Any] | str, ...] | None) -> bool:
    """Whether raw deltas already end the answer themselves."""
    chunks = [delta for delta in deltas or () if isinstance(delta, dict)]
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    return any(choice.get("finish_reason") for choice in choices)


def _deltas(answer: Rendered) -> Iterator[dict[str, Any]]:
    written, size = answer.written, answer.written.stream.chunk_chars
    yield {"role": "assistant", "content": None if answer.calls else "", **written.extra}
    for key, text in (
        ("reasoning_content", written.reasoning),
        ("content", answer.text),
        ("refusal", written.refusal),
    ):
        for piece in _pieces(text, size):
            yield {key: piece}
    for index, call in enumerate(answer.calls):
        function = call["function"]
        opened = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [opened]}
        for piece in _pieces(function["arguments"], size):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str | None, size: int) -> Iterator[str]:
    for start in range(0, len(text or ""), size):
        yield (text or "")[start : start + size]


def _usage(answer: Rendered, prompt_chars: int) -> dict[str, int]:
    """The written counts, else about four characters per token."""
    written = answer.written.usage
    said = len(answer.text or "") + sum(
        len(call["function"]["arguments"] or "") + len(call["function"]["name"])
        for call in answer.calls
    )
    prompt = prompt_chars // 4 if written.prompt_tokens is None else written.prompt_tokens
    done = said // 4 if written.completion_tokens is None else written.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": prompt + done}
