"""Settings of MCP servers, and of what an agent does with tools.

How a server is really reached: `mcp_servers:` of our section in endpoints.yml. The host
accepts http servers only and knows no headers, files or time limits of one server. An
entry here has the name of an entry there and says more about it.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    SecretStr,
    field_validator,
    model_validator,
)

__all__ = ["McpServerSettings", "ToolSettings"]

_CHILD_KEYS = frozenset({"command", "args", "env", "cwd"})
_COMMON_KEYS = frozenset({"transport", "connect_timeout_seconds"})


class ToolSettings(BaseModel):
    """What an agent does with tools; a part of the settings of agents."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    result_limit_chars: int | None = Field(
        default=None,
        ge=1000,
        description="Characters of tool results the model sees of one answer's calls; the rest "
        "can be read with the tool `read_result`. Default: 24000.",
    )
    confirm: Literal["destructive", "off"] | None = Field(
        default=None,
        description="`destructive`: tools that declare themselves destructive run only after the "
        "user said yes. Default: off.",
    )
    confirm_question: str | None = Field(
        default=None,
        description="What the user is asked, with {tool} and {arguments}. Default: a short "
        "question in English.",
    )
    confirm_yes: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Words and phrases that mean yes. Default: those of English.",
    )
    confirm_no: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Words and phrases that mean no. Default: those of English.",
    )

    @field_validator("confirm_question")
    @classmethod
    def _names_the_call(cls, question: str | None) -> str | None:
        """Nobody can consent to what is not named."""
        missing = [part for part in ("{tool}", "{arguments}") if question and part not in question]
        if missing:
            raise ValueError(f"{' and '.join(missing)} must stand in it")
        return question


class McpServerSettings(BaseModel):
    """One MCP server beyond what the host's own entry of the same name can say."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, coerce_numbers_to_str=True
    )

    transport: Literal["http", "sse", "stdio"] = Field(
        default="http",
        description="Streamable HTTP, HTTP with server-sent events, or a child process. "
        "Default: http.",
    )
    url: str | None = Field(
        default=None,
        description="Address of an http or sse server. Default: the url of the host's entry.",
    )
    headers: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        description="Headers of every request, secrets best as ${VARIABLE}.",
    )
    command: str | None = Field(default=None, description="Program of a stdio server.")
    args: list[str] = Field(default_factory=list[str], description="Its arguments.")
    env: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr],
        description="Variables for the child process. Of the variables of this process it "
        "inherits only a few harmless ones, such as PATH and HOME.",
    )
    cwd: str | None = Field(
        default=None,
        description="Working directory of the child process. Default: that of the assistant.",
    )
    verify: bool = Field(
        default=True, description="Whether the server's certificate is checked. Default: true."
    )
    ca_file: str | None = Field(
        default=None,
        description="PEM file of trusted authorities. Default: the usual ones.",
    )
    client_cert_file: str | None = Field(
        default=None, description="PEM file of the certificate that identifies the assistant."
    )
    client_key_file: str | None = Field(
        default=None,
        description="PEM file of its key. Default: it is in the same file.",
    )
    connect_timeout_seconds: PositiveFloat = Field(
        default=10.0, description="Time one attempt to open a session may take. Default: 10."
    )

    @model_validator(mode="after")
    def _fits_transport(self) -> Self:
        """Refuse keys that the transport would never read."""
        child = self.transport == "stdio"
        foreign = self.model_fields_set - _COMMON_KEYS
        foreign = foreign - _CHILD_KEYS if child else foreign & _CHILD_KEYS
        if foreign:
            listed = ", ".join(sorted(foreign))
            raise ValueError(
                f"{listed}: a server with transport {self.transport!r} has no such key"
            )
        if child and not self.command:
            raise ValueError("a server with transport 'stdio' needs a command")
        if self.client_key_file and not self.client_cert_file:
            raise ValueError("client_key_file needs client_cert_file beside it")
        return self
