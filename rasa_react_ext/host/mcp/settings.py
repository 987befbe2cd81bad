"""Settings of MCP servers, and of what an agent does with tools.

How a server is really reached: `mcp_servers:` of our section in endpoints.yml. The host
accepts http servers only and knows no headers, files or time limits of one server. An
entry here has the name of an entry there and says more about it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    field_validator,
    model_validator,
)

if TYPE_CHECKING:
    from rasa_react_ext.mcp_pool import Offer

__all__ = ["ElicitationWords", "McpServerSettings", "ToolSettings", "offers"]

_CHILD_KEYS = frozenset({"command", "args", "env", "cwd"})
_COMMON_KEYS = frozenset({"transport", "connect_timeout_seconds"})
PROGRESS_PARTS = ("message", "done", "total", "percent", "tool")


class ElicitationWords(BaseModel):
    """What is said, and understood, when a server asks the user something."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    refuse: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Words and phrases that decline; those of `confirm_no` do, too, where yes or "
        "no is no answer. Default: those of English.",
    )
    skip_words: list[str] | None = Field(
        default=None,
        min_length=1,
        description="Words and phrases that leave an optional field empty. Default: those of "
        "English.",
    )
    again: str = Field(
        default="Sorry, that does not fit.",
        description="Begins the answer to words that do not fit.",
    )
    way_out: str = Field(
        default='Or say "cancel" to give no answer.', description="Ends that answer."
    )
    optional: str = Field(
        default='(You can say "skip".)', description="Stands behind an optional field."
    )
    yes_or_no: str = Field(default="Please answer yes or no.", description="Asks for yes or no.")
    one_of: str = Field(
        default="Please choose one: {value}.", description="Names what can be chosen."
    )
    some_of: str = Field(
        default="Please choose from these, with commas between: {value}.",
        description="Names what can be chosen together.",
    )
    number: str = Field(
        default="Please answer with a number, such as 2.5.", description="Asks for a number."
    )
    integer: str = Field(
        default="Please answer with a whole number, such as 3.",
        description="Asks for a whole number.",
    )
    string: str = Field(default="Please answer in words.", description="Asks for a text.")
    at_least: str = Field(
        default="It must be {value} or more.", description="For a number that is too small."
    )
    more_than: str = Field(
        default="It must be more than {value}.",
        description="For a number that is not above a bound.",
    )
    at_most: str = Field(
        default="It must be {value} or less.", description="For a number that is too large."
    )
    less_than: str = Field(
        default="It must be less than {value}.",
        description="For a number that is not below a bound.",
    )
    too_short: str = Field(
        default="It needs {value} characters or more.", description="For a text that is too short."
    )
    too_long: str = Field(
        default="It may have {value} characters at most.",
        description="For a text that is too long.",
    )
    too_few: str = Field(
        default="Please name {value} or more.", description="For a choice of too few."
    )
    too_many: str = Field(
        default="Please name {value} at most.", description="For a choice of too many."
    )
    wrong_format: str = Field(
        default="It must have the form of: {value}.",
        description="For a text of a known form, e.g. email or date.",
    )
    wrong_form: str = Field(
        default="It does not have the form that is wanted.", description="For every other reason."
    )


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

    elicitation: Literal["ask", "decline"] | None = Field(
        default=None,
        description="What becomes of a question that an MCP server has for the user in the middle "
        "of a call: `ask` puts it to the user, `decline` refuses it. Default: decline.",
    )
    elicitation_wait_seconds: PositiveFloat | None = Field(
        default=None,
        description="How long such a call is kept open for the user's answer. Default: 300.",
    )
    elicitation_words: ElicitationWords | None = Field(
        default=None,
        description="What is said and understood then. Default: English.",
    )
    sampling: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether an MCP server may ask the agent's model something in the middle of a "
        "call. Default: off.",
    )
    sampling_max_calls: PositiveInt | None = Field(
        default=None, description="How often it may do so in one call. Default: 3."
    )
    sampling_max_tokens: PositiveInt | None = Field(
        default=None, description="Tokens of such an answer. Default: 1000."
    )
    progress_message: str | None = Field(
        default=None,
        description="What the user is told when a call reports progress, with {message}, {done}, "
        "{total}, {percent} or {tool}. Default: nothing.",
    )
    progress_interval_seconds: PositiveFloat | None = Field(
        default=None,
        description="Time before the first such message of a call and between two of them. "
        "Default: 5.",
    )

    @field_validator("progress_message")
    @classmethod
    def _says_something_known(cls, template: str | None) -> str | None:
        """A misspelt part would be shown to users as it stands."""
        given = re.findall(r"{(.*?)}", template or "")
        if unknown := [part for part in given if part not in PROGRESS_PARTS]:
            raise ValueError(f"{{{unknown[0]}}} is none of {', '.join(PROGRESS_PARTS)}")
        return template

    @field_validator("confirm_question")
    @classmethod
    def _names_the_call(cls, question: str | None) -> str | None:
        """Nobody can consent to what is not named."""
        missing = [part for part in ("{tool}", "{arguments}") if question and part not in question]
        if missing:
            raise ValueError(f"{' and '.join(missing)} must stand in it")
        return question


def offers(settings: ToolSettings) -> frozenset[Offer]:
    """What an agent lets servers ask during its calls."""
    wanted: dict[Offer, bool] = {
        "elicitation": settings.elicitation == "ask",
        "sampling": settings.sampling == "on",
    }
    return frozenset(offer for offer, given in wanted.items() if given)


class McpServerSettings(BaseModel):
    """One MCP server beyond what the host's own entry of the same name can say."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, coerce_numbers_to_str=True
    )

    transport: Literal["http", "sse", "stdio"] = Field(
        default="http",
        description="Streamable HTTP, HTTP with server-sent events, or a child process.",
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
    verify: bool = Field(default=True, description="Whether the server's certificate is checked.")
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
        default=10.0, description="Time one attempt to open a session may take."
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
