"""Exporters from the standard OpenTelemetry environment, where the host sets up none."""

from __future__ import annotations

import os

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

__all__ = ["configure_from_environment"]

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SERVICE = "rasa"


def configure_from_environment() -> None:
    """Export by OTLP over HTTP when the environment asks for it and nobody else does.

    Reads `OTEL_EXPORTER_OTLP_ENDPOINT` and its variants for traces and metrics, and
    `OTEL_SDK_DISABLED`, as the OpenTelemetry specification defines them. What the host's
    own tracing configuration has set up is left alone.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", _SERVICE)})
    if _asked("TRACES") and not isinstance(trace.get_tracer_provider(), TracerProvider):
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
    if _asked("METRICS") and not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider(resource=resource, metric_readers=[reader]))


def _asked(signal: str) -> bool:
    if os.environ.get(f"OTEL_{signal}_EXPORTER", "otlp") != "otlp":
        return False
    names = (_ENDPOINT, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    return any(os.environ.get(name) for name in names)
