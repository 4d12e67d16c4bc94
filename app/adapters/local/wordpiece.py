"""Tokenizes text as BERT's WordPiece does, to the ids of a vocabulary."""

import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from app.adapters.local.model_files import read_json
from app.domain.errors import ConfigurationError
from app.domain.words import normalised

_LONGEST_WORD = 100
_CACHED_CHARACTERS = 8192
_TOKENIZERS = {"BertTokenizer", "BertTokenizerFast", None}
# The range before the last begins at 2B920, not at the block's 2B820, as in the tokenizer that these models are
# published with: a text must get the same ids as there.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Splits text into the longest known pieces, word by word.

    Names of control tokens in a text, such as "[SEP]", are ordinary characters: a user's text must not be able to end
    a sequence or to mask a token.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        space_ideographs: bool = True,
    ) -> None:
        """Index the vocabulary.

        Args:
            vocabulary: the tokens in the order of their ids.
            lowercase: whether the model knows only lower case.
            strip_accents: whether the model knows no accents; None means "as ``lowercase``".
            space_ideographs: whether each Chinese character is a word of its own.

        Raises:
            ConfigurationError: the vocabulary lacks a token that every BERT model needs.
        """
        ids = {token: position for position, token in enumerate(vocabulary)}
        missing = [token for token in ("[UNK]", "[CLS]", "[SEP]") if token not in ids]
        if missing:
            raise ConfigurationError(f"The vocabulary lacks {', '.join(missing)}.")
        self.size = 1 + max(ids.values())
        self.first, self.last, self._unknown = ids["[CLS]"], ids["[SEP]"], ids["[UNK]"]
        self._starts = {token: i for token, i in ids.items() if not token.startswith("##")}
        self._continuations = {token[2:]: i for token, i in ids.items() if token.startswith("##")}
        self._strip_accents = lowercase if strip_accents is None else strip_accents
        self._cleaning = _CharacterTable(lambda character: _cleaned(character, space_ideographs=space_ideographs))
        self._folding = _CharacterTable(
            lambda character: _folded(character, lowercase=lowercase, strip_accents=self._strip_accents),
        )

    @classmethod
    def from_directory(cls, directory: Path) -> "WordPiece":
        """Read vocab.txt and the settings of the model's tokenizer.

        Raises:
            ConfigurationError: a file is missing or names another tokenizer.
        """
        try:
            # Not splitlines: the vocabulary may hold separators such as U+2028 as tokens.
            lines = (directory / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"{directory / 'vocab.txt'} cannot be read: {error}") from error
        return cls(lines, **_options(directory))

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, without the first and the last control token of a sequence."""
        return [piece for word in self.words(text) for piece in self.pieces(word)]

    def words(self, text: str) -> list[str]:
        """Return the words and marks of a text as the vocabulary knows them, without accents where it has none."""
        text = text.translate(self._cleaning)
        if self._strip_accents and not text.isascii():
            text = normalised(text, "NFD")
        return text.translate(self._folding).split()

    def pieces(self, word: str) -> list[int]:
        """Return the ids of the pieces of one of the ``words``."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        pieces: list[int] = []
        known, start = self._starts, 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = known.get(word[start:end])
                if piece is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(piece)
            known, start = self._continuations, end
        return pieces


class _CharacterTable(dict[int, str]):
    """A table for ``str.translate`` that caches the characters of texts, up to a limit."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__((code, rule(chr(code))) for code in range(128))
        self._rule = rule

    def __missing__(self, code: int) -> str:
        replacement = self._rule(chr(code))
        if len(self) < _CACHED_CHARACTERS:
            self[code] = replacement
        return replacement


def _cleaned(character: str, *, space_ideographs: bool) -> str:
    if character in "\t\n\r" or unicodedata.category(character)[0] == "Z":
        return " "
    if character in "\0\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:
        return ""
    if space_ideographs and any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    return character


def _folded(character: str, *, lowercase: bool, strip_accents: bool) -> str:
    category = unicodedata.category(character)
    if strip_accents and category == "Mn":
        return ""
    # BERT treats every ASCII symbol as punctuation, although in Unicode "$" and "+" are none.
    if category[0] == "P" or (character.isascii() and category[0] == "S"):
        return f" {character} "
    # Per character, so that a final sigma becomes the same letter as any other sigma.
    return character.lower() if lowercase else character


def _options(directory: Path) -> dict[str, Any]:
    config = read_json(directory / "tokenizer_config.json", {})
    if config:
        if config.get("tokenizer_class") not in _TOKENIZERS:
            raise ConfigurationError(f"{directory} needs {config['tokenizer_class']}; only BertTokenizer is supported.")
        names = {"lowercase": "do_lower_case", "space_ideographs": "tokenize_chinese_chars"}
    else:
        config = read_json(directory / "tokenizer.json", {}).get("normalizer") or {}
        if config.get("type", "BertNormalizer") != "BertNormalizer":
            raise ConfigurationError(f"{directory} needs {config['type']}; only BertNormalizer is supported.")
        names = {"lowercase": "lowercase", "space_ideographs": "handle_chinese_chars"}
    options = {ours: config.get(theirs, True) for ours, theirs in names.items()}
    return {**options, "strip_accents": config.get("strip_accents")}
