"""What the conformance suite starts as the client under test; its URL is the last argument.

Drives the probe; only where a scenario wants an authentication scheme that is not ours
to choose, the pool is given one of the mcp package.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import httpx
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec
from rasa_react_ext.mcp_pool.probe import main

STEPS: dict[str, list[str]] = {
    "initialize": [],
    "tools_call": ["--call", "add_numbers", "--arguments", '{"a": 5, "b": 3}'],
    "elicitation-sep1034-client-defaults": [
        "--accept-defaults",
        "--call",
        "test_client_elicitation_defaults",
    ],
    "sse-retry": ["--call", "test_reconnection"],
}


class Memory:
    """Keeps the token of one run."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        pass


def scheme(url: str, given: dict[str, str]) -> httpx.Auth:
    """The scheme that fits the credentials of the scenario."""
    if "private_key_pem" in given:
        assertion = SignedJWTParameters(
            issuer=given["client_id"],
            subject=given["client_id"],
            signing_key=given["private_key_pem"],
            signing_algorithm=given["signing_algorithm"],
        )
        return PrivateKeyJWTOAuthProvider(
            server_url=url,
            storage=Memory(),
            client_id=given["client_id"],
            assertion_provider=assertion.create_assertion_provider(),
        )
    return ClientCredentialsOAuthProvider(
        server_url=url,
        storage=Memory(),
        client_id=given["client_id"],
        client_secret=given["client_secret"],
    )


async def with_credentials(url: str) -> int:
    """List tools where the server leads to the token endpoint."""
    auth = scheme(url, json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"]))
    async with Pool() as pool:
        tools = PooledTools(pool, ServerSpec(name="s", url=url, auth=auth, credentials_key="k"))
        await tools.tools()
        return 1 if tools.missing() else 0


if __name__ == "__main__":
    scenario, address = sys.argv[1], sys.argv[-1]
    if scenario in STEPS:
        sys.exit(main([*STEPS[scenario], address]))
    sys.exit(asyncio.run(with_credentials(address)))
