"""A probe: connects to one server, lists everything it has and calls a tool if asked.

For people who look into a server, and for other people's test suites that drive our
client. Prints one JSON document; what the server says on the side goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mcp import types
from mcp.shared.exceptions import McpError
from pydantic import BaseModel

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.errors import PeerError
from rasa_react_ext.mcp_pool.auth import ClientCredentials
from rasa_react_ext.mcp_pool.callback import Callbacks, ElicitationAnswer, ElicitationRequest
from rasa_react_ext.mcp_pool.event import PoolEvent
from rasa_react_ext.mcp_pool.owner import OpenSession
from rasa_react_ext.mcp_pool.pool import Pool
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.tools import PooledTools

__all__ = ["main"]

DONE, TOOL_FAILED, WRONG_USE, NO_SUCH_TOOL, NO_CONNECTION = 0, 1, 2, 4, 5
_MAX_PAGES = 100
_SECRET_VARIABLE = "MCP_CLIENT_SECRET"  # the name of it, not the secret
_EPILOG = f"""
To call a tool: URL --call TOOL --arguments '{{"name": "value"}}'
exit codes: 0 done, 1 the tool failed, 2 wrong use, 4 no such tool, 5 no connection.
Secrets come from the environment: $NAME in a header or a variable is replaced, and the
client secret is read from {_SECRET_VARIABLE}.
"""

_LISTS: tuple[tuple[str, str, type[BaseModel], type[BaseModel]], ...] = (
    ("resources", "resources", types.ListResourcesRequest, types.ListResourcesResult),
    (
        "resources",
        "resourceTemplates",
        types.ListResourceTemplatesRequest,
        types.ListResourceTemplatesResult,
    ),
    ("prompts", "prompts", types.ListPromptsRequest, types.ListPromptsResult),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the probe; returns the exit code.

    Raises:
        SystemExit: The arguments are wrong (code 2) or ask for help (code 0).
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        spec = _spec(given)
        given.arguments = _object("--arguments", given.arguments)
        given.meta = _object("--meta", given.meta)
    except ValueError as error:
        parser.error(str(error))
    return asyncio.run(_probe(spec, given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rasa_react_ext.mcp_pool",
        description="Connect to an MCP server, list what it has, call a tool.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", help="URL of a server, or the command that starts one")
    parser.add_argument("--sse", action="store_true", help="use the older HTTP+SSE transport")
    parser.add_argument("--call", metavar="TOOL", help="call this tool")
    parser.add_argument("--arguments", default="{}", metavar="JSON", help="its arguments")
    parser.add_argument("--meta", default="{}", metavar="JSON", help="metadata of the call")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--header", action="append", default=[], metavar="NAME:VALUE")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cwd", help="working directory of the command")
    parser.add_argument("--ca-file", help="authorities to trust")
    parser.add_argument("--token-url", help="OAuth token endpoint (client credentials)")
    parser.add_argument("--client-id", default="", help="OAuth client id")
    parser.add_argument("--scope", help="OAuth scopes, separated by spaces")
    parser.add_argument(
        "--accept-defaults",
        action="store_true",
        help="answer the server's questions with the defaults of its forms",
    )
    return parser


def _spec(given: argparse.Namespace) -> ServerSpec:
    is_url = given.target.startswith(("http://", "https://"))
    command = [] if is_url else shlex.split(given.target)
    auth = None
    if given.token_url:
        auth = ClientCredentials(
            token_url=given.token_url,
            client_id=given.client_id,
            client_secret=os.environ.get(_SECRET_VARIABLE, ""),
            scope=given.scope,
        )
    return ServerSpec(
        name=given.target if is_url else (command[0] if command else ""),
        transport="sse" if given.sse else "http" if is_url else "stdio",
        url=given.target if is_url else "",
        command=command[0] if command else "",
        args=tuple(command[1:]),
        headers=_pairs(given.header, ":"),
        env=_pairs(given.env, "="),
        cwd=given.cwd,
        auth=auth,
        credentials_key="probe" if auth else "",
        connect_timeout_seconds=given.timeout,
        max_retries=0,
        ca_file=given.ca_file,
    )


def _pairs(given: Sequence[str], separator: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in given:
        name, found, value = pair.partition(separator)
        if not found:
            raise ValueError(f"{pair!r}: write NAME{separator}VALUE")
        pairs[name.strip()] = os.path.expandvars(value.strip())
    return pairs


def _object(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{option}: give a JSON object")  # noqa: TRY004  # bad usage
    return value


async def _probe(spec: ServerSpec, given: argparse.Namespace) -> int:
    callbacks = Callbacks(elicit=_with_defaults if given.accept_defaults else None)
    async with Pool(_aside, callbacks) as pool:
        tools = PooledTools(pool, spec)
        try:
            session = await pool.catalogue(spec).connection.session()
            found = await _everything(session)
            listed = await tools.tools()
        except (PeerError, McpError, ValueError) as error:
            _print({"error": str(error)})
            return NO_CONNECTION
        found["tools"] = [asdict(tool) for tool in listed]
        found["missing"] = list(tools.missing())
        if given.call is None:
            _print(found)
            return DONE
        tool = next((tool for tool in listed if tool.name == given.call), None)
        if tool is None:
            _print({**found, "error": f"there is no tool {given.call!r}"})
            return NO_SUCH_TOOL
        context = CallContext(call_id="probe", timeout_seconds=given.timeout, meta=given.meta)
        result = await tools.call(tool, given.arguments, context)
        _print({**found, "result": asdict(result)})
        return TOOL_FAILED if result.is_error else DONE


async def _everything(session: OpenSession) -> dict[str, Any]:
    """What the server says about itself, and its lists except the tools."""
    info = session.info
    assert info is not None
    found: dict[str, Any] = {
        "server": info.serverInfo.model_dump(exclude_none=True),
        "protocol": info.protocolVersion,
        "instructions": info.instructions,
        "capabilities": info.capabilities.model_dump(exclude_none=True),
    }
    for capability, name, request, result in _LISTS:
        if getattr(info.capabilities, capability):
            found[name] = await _pages(session, request, result, name)
    return found


async def _pages(
    session: OpenSession, kind: type[BaseModel], result: type[BaseModel], name: str
) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        request = types.ClientRequest.model_validate(
            {"method": kind.model_fields["method"].default, "params": {"cursor": cursor}}
        )
        page = await session.request(request, result)
        items += [item.model_dump(mode="json", exclude_none=True) for item in getattr(page, name)]
        cursor = getattr(page, "nextCursor", None)
        if not cursor:
            break
    return items


async def _with_defaults(request: ElicitationRequest) -> ElicitationAnswer:
    """Accept a form with the defaults of its fields; a page is not visited."""
    if request.url:
        return ElicitationAnswer(action="decline")
    fields = request.schema.get("properties") or {}
    content = {name: field["default"] for name, field in fields.items() if "default" in field}
    return ElicitationAnswer(action="accept", content=content)


def _aside(event: PoolEvent) -> None:
    sys.stderr.write(f"{event.kind}: {event.text}\n")


def _print(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n")
