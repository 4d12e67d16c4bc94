"""The words by which code reads a text: a file of data for each language, and no word of a language elsewhere.

The words are few and stay few: the meaning of all other words is for the reader to know.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

LANGUAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(Path(__file__).parent.glob("*.toml"))
}
"""The words and tables of each language, by the language's code."""


def words(key: str) -> frozenset[str]:
    """Return the words that any language has under a key."""
    return frozenset(word for language in LANGUAGES.values() for word in language.get(key, "").split())


def patterns(key: str, table: str | None = None) -> str:
    """Return a pattern of all languages' patterns under a key, of a table or outside of tables."""
    tables = (language if table is None else language.get(table, {}) for language in LANGUAGES.values())
    return "|".join(pattern for table_ in tables for pattern in table_.get(key, ()))


def table(name: str) -> dict[str, str]:
    """Return the entries that the languages have in a table, by their keys."""
    return {key: value for language in LANGUAGES.values() for key, value in language.get(name, {}).items()}


def meanings(table: str, separator: str | None = None) -> dict[str, str]:
    """Return the meaning of each expression of a table, in any language: the key under which the expression stands."""
    return {
        name: meaning
        for language in LANGUAGES.values()
        for meaning, names in language.get(table, {}).items()
        for name in names.split(separator)
    }
