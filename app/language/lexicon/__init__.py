"""The words by which code reads a text: a file of data for each language, and nothing of a language elsewhere.

They are few and stay so. What else a language says with words is the reader's to know.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LANGUAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(Path(__file__).parent.glob("*.toml"))
}
"""What each language has, by its code."""


def words(key: str) -> frozenset[str]:
    """Return the words that any language has under a key."""
    return frozenset(word for language in LANGUAGES.values() for word in language.get(key, "").split())


def patterns(key: str, table: str | None = None) -> str:
    """Return a pattern for what any language has as patterns under a key, of a table or of none."""
    tables = (language if table is None else language.get(table, {}) for language in LANGUAGES.values())
    return "|".join(pattern for table_ in tables for pattern in table_.get(key, ()))


def table(name: str) -> dict[str, str]:
    """Return what any language has in a table, by its key."""
    return {key: value for language in LANGUAGES.values() for key, value in language.get(name, {}).items()}


def meanings(table: str, separator: str | None = None) -> dict[str, str]:
    """Return what each expression of a table means, in any language: the key under which it stands."""
    return {
        name: meaning
        for language in LANGUAGES.values()
        for meaning, names in language.get(table, {}).items()
        for name in names.split(separator)
    }
