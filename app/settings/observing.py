"""Settings of traces and of who reads the metrics."""

from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import BaseModel, Field, field_validator

from app.settings.forms import PRINTABLE, BaseUrl, Key

_TRACES_PATH = "/v1/traces"
_TOKEN_CHARACTERS = 16


class ObservingSettings(BaseModel):
    """Settings of traces, by OpenTelemetry's own names, and of who reads the metrics."""

    metrics: Literal["loopback", "open"] = Field(
        "loopback",
        description="Who may read `/metrics`: `loopback`: this machine alone, and by no proxy; `open`: everyone. "
        "METRICS_TOKEN lets others in (docs/operations.md).",
    )
    metrics_token: Annotated[Key, Field(repr=False)] = Field(
        None,
        description="Bearer token with which `/metrics` is read from anywhere, at least 16 characters; it is no "
        "credential of a tenant.",
    )
    otel_exporter_otlp_endpoint: BaseUrl | None = Field(
        None,
        description="Where a collector takes OpenTelemetry's traces over HTTP, such as http://127.0.0.1:4318; "
        "`/v1/traces` is put behind it. Not set: nothing is traced. It needs the extra `traces` (docs/operations.md).",
    )
    otel_exporter_otlp_traces_endpoint: BaseUrl | None = Field(
        None, description="The same for traces alone, and with its whole path."
    )
    otel_exporter_otlp_headers: Annotated[str | None, Field(repr=False)] = Field(
        None, description="Headers for the collector, `name=value` separated by commas, values URL-encoded."
    )
    otel_exporter_otlp_protocol: Literal["http/protobuf"] = Field(
        "http/protobuf", description="How traces are sent; there is no other way."
    )
    otel_service_name: str | None = Field(
        None,
        description="Name of the service in traces; `memory-gateway` where OTEL_RESOURCE_ATTRIBUTES has none either.",
    )
    otel_traces_sampler: Literal[
        "always_on",
        "always_off",
        "traceidratio",
        "parentbased_always_on",
        "parentbased_always_off",
        "parentbased_traceidratio",
    ] = Field(
        "parentbased_always_on",
        description="Which requests are traced; the `parentbased_` ones do as the caller's `traceparent` says.",
    )
    otel_traces_sampler_arg: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The part of all requests that the `traceidratio` samplers trace, 0 to 1; 1 where not set."
    )
    otel_instrumentation_genai_capture_message_content: bool = Field(
        default=False, description="Whether spans have queries and the contents of memories, each cut off."
    )

    @field_validator("metrics_token")
    @classmethod
    def _check_token(cls, value: str | None) -> str | None:
        if value is not None and len(value) < _TOKEN_CHARACTERS:
            raise ValueError(f"must have at least {_TOKEN_CHARACTERS} characters: draw one (openssl rand -hex 32)")
        return value

    @field_validator("otel_exporter_otlp_headers")
    @classmethod
    def _check_headers(cls, value: str | None) -> str | None:
        headers = _headers(value)
        if any(not PRINTABLE.fullmatch(name) or not text.isprintable() for name, text in headers.items()):
            raise ValueError("must be name=value, separated by commas, in printable ASCII")
        return value

    @property
    def traces_url(self) -> str | None:
        """Where spans are sent; None where nothing is traced."""
        if self.otel_exporter_otlp_traces_endpoint is not None:
            return self.otel_exporter_otlp_traces_endpoint
        base = self.otel_exporter_otlp_endpoint
        return None if base is None else base.rstrip("/") + _TRACES_PATH

    @property
    def trace_headers(self) -> dict[str, str]:
        """The headers that are sent with spans."""
        return _headers(self.otel_exporter_otlp_headers)


def _headers(given: str | None) -> dict[str, str]:
    pairs = [part.strip().partition("=") for part in (given or "").split(",") if part.strip()]
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}
