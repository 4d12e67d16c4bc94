"""Content that should not be kept: its kinds, what is done about it, and what takes its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

SensitiveKind: TypeAlias = Literal["key", "token", "private_key", "password", "card", "iban"]
"""A kind of content: a key of an API, a token of a session or an account, a private key, the password of a URL, the
number of a payment card, or the number of a bank account.
"""
Handling: TypeAlias = Literal["off", "count", "mask", "refuse"]
"""What is done about such content: nothing, it is counted, a label takes its place, or the write is refused."""

LABELS: Final[Mapping[SensitiveKind, str]] = {
    "key": "[key]",
    "token": "[token]",
    "private_key": "[private key]",
    "password": "[password]",
    "card": "[card]",
    "iban": "[iban]",
}
"""The texts that take the place of masked content, none of which is such content itself."""
NAMES: Final[Mapping[SensitiveKind, str]] = {
    "key": "a key",
    "token": "a token",
    "private_key": "a private key",
    "password": "a password in a URL",
    "card": "a card number",
    "iban": "an account number (IBAN)",
}
"""The names of the kinds in a message."""


@dataclass(frozen=True, slots=True)
class SensitiveSpan:
    """A part of a text that should not be kept: its kind, its first character, and the character behind its last."""

    kind: SensitiveKind
    start: int
    end: int
