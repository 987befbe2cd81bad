"""A real provider behind the recording server: asks it and passes its answer on as it comes.

Changes nothing on the way, except the key where one is given; stores nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from rasa_react_ext.errors import ConfigurationError, PeerError
from rasa_react_ext.testing.cassette import RecordedAnswer
from rasa_react_ext.testing.connection import Connection

__all__ = ["Asked", "Upstream", "base_url"]

_KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
_OF_ONE_HOP = {
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms")
_URL = re.compile(r"https?://[^\s/?#]+(?:/[^\s?#]*)?")
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_TIMEOUT = httpx.Timeout(600, connect=20)
_EVENT = re.compile(r".*?(?:\r\n\r\n|\n\n)|.+", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came in.

    Attributes:
        method: HTTP method.
        path: Path below the base URL.
        query: Query part of the URL, without the question mark.
        headers: Request headers, names in lower case.
        raw: The body.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def body(self) -> Any:
        """The body as JSON, else as text, else as bytes; None where there is none."""
        return _readable(self.raw) if self.raw else None


def base_url(written: str) -> str:
    """A base URL without the slash at its end.

    Raises:
        ConfigurationError: It is no URL.
    """
    if not _URL.fullmatch(written):
        raise ConfigurationError(
            file="command line",
            key="upstream",
            problem=f"{written!r} is no base URL.",
            fix="Write it with its scheme, e.g. https://api.openai.com/v1.",
        )
    return written.rstrip("/")


class Upstream:
    """A provider's OpenAI-compatible API; open it with `async with`.

    Args:
        url: Its base URL, e.g. `https://api.openai.com/v1`.
        api_key: Key to send in place of the client's own.
    """

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        self._url = url
        self._api_key = api_key
        # A proxy of the environment is for the world outside.
        outside = httpx.URL(url).host not in _LOOPBACK
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, trust_env=outside)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(exc_type, exc, traceback)

    async def relay(self, asked: Asked, connection: Connection) -> RecordedAnswer:
        """Ask the provider and pass its answer on, piece by piece.

        Args:
            asked: The request.
            connection: Of the client; the answer is complete on it afterwards, or dropped
                where the provider's was.

        Raises:
            PeerError: The provider cannot be reached; nothing was sent to the client.
        """
        try:
            response = await self._send(asked)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            where = httpx.URL(self._url).host
            raise PeerError("upstream", f"{where} cannot be reached: {reason}") from error
        pieces: list[bytes] = []
        cut = False
        try:
            await connection.start(response.status_code, _headers_back(response.headers))
            async for piece in response.aiter_bytes():
                pieces.append(piece)
                await connection.write(piece)
        except httpx.HTTPError:
            cut = True
        finally:
            await response.aclose()
        await (connection.drop() if cut else connection.write(b"", more=False))
        return _recorded(response, b"".join(pieces), cut=cut)

    async def _send(self, asked: Asked) -> httpx.Response:
        headers = {name: value for name, value in asked.headers.items() if name not in _OF_ONE_HOP}
        if self._api_key is not None:
            used = [name for name in _KEY_HEADERS if name in headers] or ["authorization"]
            bearer = {"authorization": f"Bearer {self._api_key}"}
            headers |= {name: bearer.get(name, self._api_key) for name in used}
        request = self._client.build_request(
            asked.method,
            f"{self._url}{asked.target}",
            headers={**headers, "accept-encoding": "identity"},
            content=asked.raw,
        )
        return await self._client.send(request, stream=True)


def _headers_back(headers: httpx.Headers) -> Iterable[tuple[bytes, bytes]]:
    """All but those of one hop; the body's length only where the body was not packed."""
    packed = "content-encoding" in headers
    for name, value in headers.multi_items():
        if name not in _OF_ONE_HOP or (name == "content-length" and not packed):
            yield name.encode("latin-1"), value.encode("latin-1")


def _recorded(response: httpx.Response, raw: bytes, *, cut: bool) -> RecordedAnswer:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    body, chunks = _readable(raw), None
    streamed = headers.get("content-type", "").startswith("text/event-stream")
    if streamed and isinstance(body, str):
        body, chunks = None, tuple(_EVENT.findall(body))
    return RecordedAnswer(
        status=response.status_code, headers=headers, body=body, chunks=chunks, cut=cut
    )


def _readable(raw: bytes) -> Any:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text
