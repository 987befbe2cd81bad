"""What counts as text: nothing blank is said or stored, and everything can be encoded."""

from __future__ import annotations

__all__ = ["sound", "visible"]


def visible(text: str) -> str:
    """The text without surrounding blanks; empty when a reader would see nothing."""
    seen = any(character.isprintable() and not character.isspace() for character in text)
    return text.strip() if seen else ""


def sound(text: str) -> str:
    """The text with unpaired surrogates replaced, which no encoding can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
