"""What protocol 0.3 promises and the package does not keep.

JSON-RPC with the protocol's own error codes in 0.3, and without inner texts in both; a send
that waits for its answer over every binding, unless the caller says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.server.context import ServerCallContext
from a2a.server.jsonrpc_models import InternalError as RpcInternalError
from a2a.server.jsonrpc_models import JSONRPCError
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import InternalError
from a2a.utils.constants import PROTOCOL_VERSION_0_3
from a2a.utils.errors import A2AError
from a2a.utils.version_validator import validate_version
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message

from rasa_react_ext.a2a_server.call import CallBuilder

__all__ = ["OlderGrpcHandler", "RpcDispatcher", "waiting"]

TEXT_LIMIT = 500


class RpcDispatcher(JsonRpcDispatcher):
    """Dispatches both protocol versions."""

    def __init__(self, handler: RequestHandler) -> None:
        builder = CallBuilder()
        super().__init__(handler, context_builder=builder, enable_v0_3_compat=True)
        self._v03_adapter = _Adapter(handler, context_builder=builder)

    def _generate_error_response(
        self, request_id: str | int | None, error: Exception | JSONRPCError | A2AError
    ) -> JSONResponse:
        if not isinstance(error, A2AError | JSONRPCError) or isinstance(error, InternalError):
            error = InternalError()
        if isinstance(error, A2AError) and isinstance(error.data, str):
            # A text of the parser, put where only a mapping is read.
            error = type(error)(error.data[:TEXT_LIMIT])
        return super()._generate_error_response(request_id, error)


class _Adapter(JSONRPC03Adapter):
    """The package answers every error of 0.3 as an internal one; here each keeps its code."""

    async def _process_non_streaming_request(
        self, request_id: str | int | None, request_obj: Any, context: ServerCallContext
    ) -> JSONResponse:
        try:
            return await super()._process_non_streaming_request(request_id, request_obj, context)
        except A2AError as error:
            return _rpc_error(request_id, error)

    async def _process_streaming_request(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, request_id: str | int | None, request_obj: Any, context: ServerCallContext
    ) -> Response:
        try:
            stream = await self._stream(request_obj, context)
            first = await anext(stream)
        except A2AError as error:
            return _rpc_error(request_id, error)
        return EventSourceResponse(_events(request_id, first, stream))

    @validate_version(PROTOCOL_VERSION_0_3)
    async def _stream(self, request_obj: Any, context: ServerCallContext) -> AsyncIterator[Any]:
        if request_obj.method == "message/stream":
            return aiter(self.handler.on_message_send_stream(request_obj, context))
        return aiter(self.handler.on_subscribe_to_task(request_obj, context))

    def _generate_error_response(
        self, request_id: str | int | None, error: Exception | JSONRPCError
    ) -> JSONResponse:
        if isinstance(error, RpcInternalError):
            error = RpcInternalError()
        return super()._generate_error_response(request_id, error)


class OlderGrpcHandler(CompatGrpcHandler):
    """gRPC of 0.3; a message without configuration is waited for, as over JSON-RPC."""

    async def SendMessage(  # noqa: N802 - the protocol's name
        self, request: Any, context: grpc.aio.ServicerContext[Any, Any]
    ) -> Any:
        """Answer a message."""
        if not request.HasField("configuration"):
            request.configuration.blocking = True
        return await super().SendMessage(request, context)


def waiting(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of 0.3's HTTP+JSON send, with the same: absent, the package reads false."""

    async def send(request: Request) -> Response:
        try:
            document = json.loads(body := await request.body())
        except ValueError:
            return await endpoint(request)
        if isinstance(document, dict) and document.get("configuration") is None:
            body = json.dumps({**document, "configuration": {"blocking": True}}).encode()
        return await endpoint(Request(request.scope, _whole(body, request)))

    return send


def _whole(body: bytes, request: Request) -> Callable[[], Awaitable[Message]]:
    """What a request receives: this body, then whatever comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await request.receive()

    return receive


async def _events(
    request_id: str | int | None, first: Any, rest: AsyncIterator[Any]
) -> AsyncIterator[dict[str, str]]:
    yield _sse(first.model_dump_json(by_alias=True, exclude_none=True))
    try:
        async for item in rest:
            yield _sse(item.model_dump_json(by_alias=True, exclude_none=True))
    except A2AError as error:
        body = bytes(_rpc_error(request_id, error).body)
        yield {"event": "error", **_sse(body.decode())}


def _sse(data: str) -> dict[str, str]:
    return {"data": data}


def _rpc_error(request_id: str | int | None, error: A2AError) -> JSONResponse:
    return JSONResponse(build_error_response(request_id, error))
