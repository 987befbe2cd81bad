"""Checks that a card is signed with the key it is expected to be signed with."""

from __future__ import annotations

import json
from collections.abc import Sequence

from a2a.utils.signing import create_signature_verifier
from jwt import PyJWK, PyJWKSet

from rasa_react_ext.a2a_wire import AgentCard

__all__ = ["check_signature"]


def check_signature(card: AgentCard, key: str, algorithms: Sequence[str]) -> None:
    """Accept a card with at least one valid signature.

    Args:
        card: The card.
        key: PEM, JSON Web Key, JSON Web Key Set or a shared secret.
        algorithms: What is accepted; a signature names its own.

    Raises:
        ValueError: There is no valid signature.
    """
    try:
        create_signature_verifier(lambda kid, _jku: _key(key, kid), list(algorithms))(card)
    except Exception as error:
        # A malformed header raises whatever its parser raises.
        raise ValueError(f"its signature is not valid ({type(error).__name__})") from error


def _key(key: str, kid: str | None) -> PyJWK | str:
    if not key.lstrip().startswith("{"):
        return key
    document = json.loads(key)
    keys = PyJWKSet.from_dict(document).keys if "keys" in document else [PyJWK(document)]
    named = [one for one in keys if one.key_id == kid]
    return (named or keys)[0]
