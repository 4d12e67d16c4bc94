"""The packaged rule set, and the language in which a text is read by it."""

from typing import Final

from app.language.tokens import Tokens
from app.statements.packs import Pack, RuleSet, language, load

RULES: Final[RuleSet] = load()
_DEFAULT: Final[Pack] = next(pack for pack in RULES.packs if pack.code == "en")


def pack_of(words: Tokens, default: Pack = _DEFAULT) -> Pack:
    """Return the pack of the language of some words; the default where none stands out."""
    return language(RULES.packs, words, default)
