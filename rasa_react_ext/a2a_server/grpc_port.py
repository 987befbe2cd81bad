"""The protocol's gRPC binding, versions 1.0 and 0.3, on a port of its own."""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import a2a.types.a2a_pb2_grpc as current
import grpc
import grpc.aio
from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc as older
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.grpc_handler import (
    DefaultGrpcServerCallContextBuilder,
    GrpcHandler,
)
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.utils.errors import VersionNotSupportedError

from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.call import SCOPE_KEY, VERSION_HEADER, Call, Caller
from rasa_react_ext.a2a_server.gate import RateLimit
from rasa_react_ext.a2a_server.older import OlderGrpcHandler
from rasa_react_ext.a2a_server.settings import CHANNEL, GrpcSettings, ServerSettings
from rasa_react_ext.errors import ConfigurationError

__all__ = ["grpc_serving", "tls_pair"]

_call: ContextVar[Call] = ContextVar("grpc_call")
STOP_SECONDS = 2.0


@contextlib.asynccontextmanager
async def grpc_serving(
    settings: ServerSettings, handler: RequestHandler, authenticator: Authenticator
) -> AsyncGenerator[None]:
    """Serve gRPC while the block runs; nothing where no port is configured.

    Raises:
        ConfigurationError: The port cannot be had, or a key file not be read.
    """
    if settings.grpc is None:
        yield
        return
    doorkeeper = _Doorkeeper(authenticator, RateLimit(settings.rate_limit_per_minute))
    server = grpc.aio.server(
        interceptors=[doorkeeper],
        options=[("grpc.max_receive_message_length", settings.max_body_bytes)],
    )
    current.add_A2AServiceServicer_to_server(GrpcHandler(handler, _Builder()), server)
    older.add_A2AServiceServicer_to_server(OlderGrpcHandler(handler, _Builder()), server)
    _bind(server, settings.grpc)
    await server.start()
    try:
        yield
    finally:
        await server.stop(STOP_SECONDS)


class _Doorkeeper(grpc.aio.ServerInterceptor):
    """Lets in whom the HTTP port would let in."""

    def __init__(self, authenticator: Authenticator, rate: RateLimit) -> None:
        self._authenticator = authenticator
        self._rate = rate

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Note the caller, or refuse the call."""
        headers = {
            str(name).lower(): value if isinstance(value, str) else value.decode("latin-1")
            for name, value in handler_call_details.invocation_metadata or ()
        }
        method = str(handler_call_details.method)
        call = Call(protocol="0.3" if method.startswith("/a2a.v1.") else "1.0")
        if not await self._authenticator.caller(headers, call):
            return _refusal(grpc.StatusCode.UNAUTHENTICATED, "valid credentials are required")
        if not self._rate.allows(call.caller):
            return _refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests")
        _call.set(call)
        return await continuation(handler_call_details)


class _Builder(DefaultGrpcServerCallContextBuilder):
    """Puts the `Call` that the doorkeeper noted into the package's context."""

    def build(self, context: grpc.aio.ServicerContext[Any, Any]) -> ServerCallContext:
        """The context of a call.

        Raises:
            VersionNotSupportedError: The call names another version than its service speaks.
        """
        built = super().build(context)
        call = _call.get()
        for name, value in context.invocation_metadata() or ():
            if name.lower() == VERSION_HEADER:
                _check_version(str(value), call.protocol)
        built.state[SCOPE_KEY] = call
        built.user = Caller(call)
        return built


def _check_version(asked: str, spoken: str) -> None:
    """Refuse another version, as the package does over HTTP: the first number decides."""
    number = re.fullmatch(r"\s*(\d+)(\.\d+)*\s*", asked)
    if asked and (number is None or number[1] != spoken.partition(".")[0]):
        raise VersionNotSupportedError(
            f"A2A version {asked[:20]!r} is not supported by this service. "
            f"Expected version {spoken!r}."
        )


def _refusal(code: grpc.StatusCode, text: str) -> Any:
    async def refuse(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        await context.abort(code, text)

    return grpc.unary_unary_rpc_method_handler(refuse)


def _bind(server: grpc.aio.Server, settings: GrpcSettings) -> None:
    address = f"{settings.interface}:{settings.port}"
    pair = tls_pair(settings)
    try:
        if pair is None:
            server.add_insecure_port(address)
        else:
            server.add_secure_port(address, grpc.ssl_server_credentials([pair]))
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: grpc",
            problem=f"{address} cannot be served: {error}.",
            fix="Write a free port.",
        ) from error


def tls_pair(settings: GrpcSettings) -> tuple[bytes, bytes] | None:
    """The private key and the certificate chain of the port; none for a port without TLS.

    Raises:
        ConfigurationError: A file cannot be read, or the two are no key and its certificate.
    """
    key, certificate = settings.private_key_path, settings.certificate_path
    if key is None or certificate is None:
        return None
    pair = _read("private_key_path", key), _read("certificate_path", certificate)
    try:
        # Without a password of its own the library asks the terminal for one.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: grpc: certificate_path",
            problem=f"{certificate!r} and the key in {key!r} cannot be used together: {error}.",
            fix="Write PEM files of one certificate and its key; the key without a password.",
        ) from error
    return pair


def _read(name: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            file="credentials.yml",
            key=f"{CHANNEL}: grpc: {name}",
            problem=f"nothing could be read from {path!r}.",
            fix="Write the path of a PEM file, or remove both keys for a port without TLS.",
        ) from error
