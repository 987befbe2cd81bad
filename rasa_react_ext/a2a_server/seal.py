"""Encryption of push credentials in the database, where a key is configured."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken

from rasa_react_ext.errors import ConfigurationError

__all__ = ["Seal"]


class Seal:
    """Encrypts and decrypts with one key; passes values through without one."""

    def __init__(self, key: str | None) -> None:
        """Take a key.

        Raises:
            ConfigurationError: It is no Fernet key.
        """
        try:
            self._fernet = None if key is None else Fernet(key.encode())
        except ValueError as error:
            raise ConfigurationError(
                file="credentials.yml",
                key="rasa_react_ext.channels.A2AServer: encryption_key",
                problem="this is no Fernet key.",
                fix="Write 32 bytes in URL-safe base64.",
            ) from error

    def close(self, value: bytes) -> bytes:
        """Encrypt."""
        return value if self._fernet is None else self._fernet.encrypt(value)

    def open(self, value: bytes) -> bytes:
        """Decrypt; a value stored before there was a key is returned as it is."""
        if self._fernet is None:
            return value
        try:
            return self._fernet.decrypt(value)
        except InvalidToken:
            return value
