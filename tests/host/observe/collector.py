"""A loopback collector that speaks OTLP over HTTP and over gRPC and keeps what it is sent."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import (
    MetricsServiceServicer,
    add_MetricsServiceServicer_to_server,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

__all__ = ["Collected", "grpc_collector", "http_collector"]


@dataclass
class Collected:
    """What has arrived.

    Attributes:
        endpoint: Where to send to.
        traces: Requests with spans.
        metrics: Requests with metrics.
        raw: All bytes.
    """

    endpoint: str = ""
    traces: list[ExportTraceServiceRequest] = field(default_factory=list)
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list)
    raw: bytes = b""

    @property
    def spans(self) -> list[Any]:
        """All spans."""
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def metric_names(self) -> set[str]:
        """Names of all metrics."""
        return {
            metric.name
            for request in self.metrics
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@contextlib.contextmanager
def http_collector() -> Iterator[Collected]:
    """A collector at `/v1/traces` and `/v1/metrics` while the block runs."""
    collected = Collected()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collected.raw += body
            if self.path == "/v1/traces":
                collected.traces.append(ExportTraceServiceRequest.FromString(body))
                answer = ExportTraceServiceResponse().SerializeToString()
            else:
                collected.metrics.append(ExportMetricsServiceRequest.FromString(body))
                answer = ExportMetricsServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collected.endpoint = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collected
        finally:
            server.shutdown()
            thread.join(5)


@contextlib.contextmanager
def grpc_collector() -> Iterator[Collected]:
    """A collector of spans and metrics over gRPC, which the host's own tracing speaks."""
    collected = Collected()

    class Service(TraceServiceServicer):  # type: ignore[misc] - generated code has no types
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
            collected.traces.append(request)
            collected.raw += request.SerializeToString()
            return ExportTraceServiceResponse()

    class Metrics(MetricsServiceServicer):  # type: ignore[misc] - generated code has no types
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
            collected.metrics.append(request)
            collected.raw += request.SerializeToString()
            return ExportMetricsServiceResponse()

    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    add_TraceServiceServicer_to_server(Service(), server)
    add_MetricsServiceServicer_to_server(Metrics(), server)
    collected.endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collected
    finally:
        server.stop(1).wait(5)
