"""What an HTTP status means for a call: surely not run, or unknown.

Pure except for reading a bounded piece of the error body.
"""

from __future__ import annotations

import json

import httpx

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError

__all__ = ["moved", "refusal"]

_BODY_LIMIT = 2_000
_ADVICE = {
    401: "check the credentials of this server",
    403: "the credentials lack the right to do this",
    404: "check the url of this server",
    405: "check the url and the transport of this server",
    429: "the server limits the rate of calls",
}


async def refusal(
    server: str, response: httpx.Response, *, in_session: bool
) -> tuple[PeerError, bool]:
    """Judge an answer that is not a success.

    Args:
        server: Name of the server, for the text.
        response: The open response; its body is read up to a limit.
        in_session: Whether the request named a session.

    Returns:
        The error, and whether the server no longer knows the session: a 404 (MCP
        "Session Management"), or a 400 that speaks of the session, as older servers send.
    """
    status = response.status_code
    said = await _said(response)
    if in_session and (status == 404 or (status == 400 and "session" in said.lower())):
        text = f"the server no longer knows the session (HTTP {status})"
        return ConnectionLostError(server, text), True
    text = f"HTTP {status}" + (f": {said}" if said else "")
    if 300 <= status < 400:
        text = f"HTTP {status}: this redirect is not followed; set url to the final address"
    elif advice := _ADVICE.get(status):
        text += f"; {advice}"
    if status >= 500:
        return OutcomeUnknownError(server, text), False
    return PeerError(server, text), False


def moved(response: httpx.Response) -> httpx.URL | None:
    """Address a redirect may be followed to, or None.

    Only 307 and 308 keep the message, and only the same origin may see the headers.
    """
    if response.status_code not in {307, 308} or "location" not in response.headers:
        return None
    here = response.request.url
    there = here.join(response.headers["location"])
    same = (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
    return there if same and not there.userinfo else None


async def _said(response: httpx.Response) -> str:
    """The message in the body, if the server gave one that is fit to show."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _BODY_LIMIT:
            return ""
    try:
        said = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(said)[:300]
