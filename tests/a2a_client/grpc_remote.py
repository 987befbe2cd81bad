"""The remote agent of the tests over gRPC, 1.0 and 0.3, with TLS and without."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
from a2a.server.request_handlers import GrpcHandler
from a2a.types import a2a_pb2_grpc
from starlette.applications import Starlette

from tests.a2a_client.faulty import Faulty
from tests.a2a_client.remote import Remote, handler_of
from tests.mcp_pool.mcp_server import free_port

__all__ = ["grpc_remote"]


@contextlib.contextmanager
def grpc_remote(**settings: Any) -> Iterator[Remote]:
    """Serve an agent over gRPC, its card over HTTP."""
    agent = Remote(binding="GRPC", grpc_port=free_port(), **settings)
    with _grpc_server(agent), contextlib.ExitStack() as stack:
        agent.served = agent.serve(lambda: Faulty(agent, Starlette()))
        agent.served.start()
        stack.callback(agent.served.stop)
        yield agent


@contextlib.contextmanager
def _grpc_server(agent: Remote) -> Iterator[None]:
    started, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    credentials = _credentials(agent)

    async def serve() -> None:
        agent.served = agent.serve(agent.app)
        handler = handler_of(agent, httpx.AsyncClient(trust_env=False, timeout=30))
        server = grpc.aio.server(interceptors=[_Token(agent)])
        a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
        a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)
        address = f"127.0.0.1:{agent.grpc_port}"
        if credentials is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, credentials)
        await server.start()
        loops.append(asyncio.get_running_loop())
        started.set()
        await stop.wait()
        await handler.aclose()
        await server.stop(0)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(20)
        assert not thread.is_alive()


def _credentials(agent: Remote) -> grpc.ServerCredentials | None:
    if agent.certificate is None:
        return None
    chain, key = (Path(file).read_bytes() for file in agent.certificate)
    return grpc.ssl_server_credentials([(key, chain)])


class _Token(grpc.aio.ServerInterceptor):
    """Demands the token in the metadata of each call."""

    def __init__(self, agent: Remote) -> None:
        self._agent = agent

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Refuse calls without it."""
        given = dict(details.invocation_metadata)
        self._agent.headers.append(given)
        if self._agent.knows(given):
            return await continuation(details)

        async def refuse(_: Any, context: Any) -> Any:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

        async def refuse_stream(_: Any, context: Any) -> Any:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
            yield

        if "tream" in details.method:
            return grpc.unary_stream_rpc_method_handler(refuse_stream)
        return grpc.unary_unary_rpc_method_handler(refuse)
