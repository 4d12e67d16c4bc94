"""Tokenizes text as SentencePiece's unigram models do (XLM-R, multilingual E5), to the ids of a vocabulary."""

import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from app.adapters.local.charsmap import Charsmap
from app.adapters.local.model_files import read_json
from app.domain.errors import ConfigurationError

_SPACE = "\u2581"
"""The character for the space before a word."""
_UNKNOWN_PENALTY = 10.0
_CONTROL = ("<s>", "</s>")
_WORDS_END = {" ", _SPACE}
_PRE_TOKENIZERS = {"Metaspace", "WhitespaceSplit"}


class Unigram:
    """Splits each word into the pieces whose scores, the logarithms of their probabilities, have the largest sum.

    Names of control tokens in a text, such as "</s>", are ordinary characters.
    """

    def __init__(
        self,
        vocabulary: Sequence[tuple[str, float]],
        *,
        unknown: int,
        control: Collection[str] = (),
        normalized: Callable[[str], str] = str,
    ) -> None:
        """Index the vocabulary.

        Args:
            vocabulary: the pieces and their scores in the order of their ids.
            unknown: the id of characters that no piece covers.
            control: pieces that no text contains, beside the unknown and the first and last one of a sequence.
            normalized: returns a text as the model knows it.

        Raises:
            ConfigurationError: the vocabulary lacks a token that these models need.
        """
        ids = {piece: number for number, (piece, _) in enumerate(vocabulary)}
        missing = [token for token in _CONTROL if token not in ids]
        if missing or not 0 <= unknown < len(vocabulary):
            raise ConfigurationError(f"The vocabulary lacks {', '.join(missing) or 'its unknown token'}.")
        self.size = len(vocabulary)
        self.first, self.last = (ids[token] for token in _CONTROL)
        self._unknown = unknown
        outside = {*control, *_CONTROL, vocabulary[unknown][0]}
        self._pieces = {piece: (score, ids[piece]) for piece, score in vocabulary if piece not in outside}
        self._longest = max(map(len, self._pieces), default=1)
        self._unknown_score = min((score for score, _ in self._pieces.values()), default=0.0) - _UNKNOWN_PENALTY
        self._normalized = normalized

    @classmethod
    def from_directory(cls, directory: Path) -> "Unigram | None":
        """Read tokenizer.json; None where the model has a tokenizer of another kind.

        Raises:
            ConfigurationError: the file is unreadable, or needs a step that is not supported.
        """
        path = directory / "tokenizer.json"
        config = read_json(path, {})
        model = config.get("model")
        if not (isinstance(model, dict) and model.get("type") == "Unigram"):
            return None
        try:
            vocabulary = [(str(piece), float(score)) for piece, score in model["vocab"]]
            control = {str(token["content"]) for token in config.get("added_tokens") or [] if token.get("special")}
            unknown = int(model["unk_id"])
            _check(path, config)
            normalized = _normalizer(path, config.get("normalizer"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ConfigurationError(f"{path} is not what a unigram tokenizer's file should be: {error}") from error
        return cls(vocabulary, unknown=unknown, control=control, normalized=normalized)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, without the first and the last control token of a sequence."""
        words = self._normalized(text).replace(_SPACE, " ").split()
        return [piece for word in words for piece in self._split(_SPACE + word)]

    def _split(self, word: str) -> list[int]:
        """Return the likeliest pieces of a word (Viterbi); successive characters without a piece are one unknown."""
        length = len(word)
        best = [0.0] + [-float("inf")] * length
        came: list[tuple[int, int]] = [(0, 0)] * (length + 1)
        for start in range(length):
            covered = False
            for end in range(start + 1, min(length, start + self._longest) + 1):
                piece = self._pieces.get(word[start:end])
                if piece is not None:
                    covered |= end == start + 1
                    if best[start] + piece[0] > best[end]:
                        best[end], came[end] = best[start] + piece[0], (start, piece[1])
            if not covered and best[start] + self._unknown_score > best[start + 1]:
                best[start + 1], came[start + 1] = best[start] + self._unknown_score, (start, self._unknown)
        found: list[int] = []
        end = length
        while end:
            end, piece_id = came[end]
            if not (piece_id == self._unknown and found and found[-1] == self._unknown):
                found.append(piece_id)
        return found[::-1]


def _check(path: Path, config: dict[str, Any]) -> None:
    if config["model"].get("byte_fallback"):
        raise ConfigurationError(f"{path}: byte_fallback is not supported.")
    for step in _steps(config.get("pre_tokenizer"), "pretokenizers"):
        if step["type"] not in _PRE_TOKENIZERS:
            raise ConfigurationError(f"{path} needs {step['type']}; only Metaspace is supported.")


def _normalizer(path: Path, config: dict[str, Any] | None) -> Callable[[str], str]:
    normalized: Callable[[str], str] = str
    composed = False
    for step in _steps(config, "normalizers"):
        if step["type"] == "NFC":
            composed = True
        elif step["type"] == "Precompiled":
            normalized = Charsmap.from_base64(step["precompiled_charsmap"]).normalized
        elif step["type"] != "Strip" and not (step["type"] == "Replace" and step["content"] in _WORDS_END):
            raise ConfigurationError(f"{path} needs {step['type']}; only NFC and Precompiled are supported.")
    return (lambda text: normalized(unicodedata.normalize("NFC", text))) if composed else normalized


def _steps(config: dict[str, Any] | None, several: str) -> list[dict[str, Any]]:
    """Return a part of a tokenizer as its steps."""
    if not config:
        return []
    return list(config[several]) if config["type"] == "Sequence" else [config]
