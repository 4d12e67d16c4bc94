"""Embeds without a model: words and character trigrams, hashed to a fixed number of dimensions.

Texts that share words or parts of words have similar vectors; the meaning of words is not considered.
"""

import asyncio
import hashlib
import math
import re
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.words import normalised
from app.ports.embedder import Embeddings, Purpose

_CONFIG = EmbeddingConfig("hashing", "ngrams-v1", 384)
_INLINE_CHARACTERS = 4096
"""Texts up to this length are embedded in less than a millisecond."""
_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_SIGNED = 2 * _CONFIG.dimensions
"""The dimensions, each with two signs."""
_FINGERPRINT_LENGTH = 0.3
_MULTIPLIER = np.uint32(0x9E3779B1)


class HashingEmbedder:
    """Embeds by signed feature hashing, with the same result on every machine and in every process."""

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of its vectors."""
        return _CONFIG

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text, regardless of the purpose."""
        del purpose, tenant_id
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            return Embeddings(_embed(texts))
        return Embeddings(await asyncio.to_thread(_embed, texts))

    async def ping(self) -> None:
        """Do nothing: no backend could be unavailable."""

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def _embed(texts: Sequence[str]) -> list[Vector]:
    return [_vector(text) for text in texts]


def _vector(text: str) -> Vector:
    folded = _fold(text)
    words = [zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in _WORD.findall(folded)]
    features = _mix(np.concatenate([np.array(words, np.uint32), _trigrams(f" {folded} ")]))
    # The last bit of a feature is its sign, and the others tell its dimension.
    counts = np.bincount(features % _SIGNED, minlength=_SIGNED)
    sums = counts[0::2] - counts[1::2]
    # The tenth occurrence of a word says less than the first.
    weights = np.copysign(np.log1p(np.abs(sums)), sums)
    square = weights @ weights
    if not (words and square):
        # White space has no features, features may cancel each other, and one or two symbols may share theirs.
        weights += _fingerprint(text)
        square = weights @ weights
    unit: Vector = (weights / math.sqrt(square)).astype(np.float32)
    return unit


def _fold(text: str) -> str:
    """Return the text in lower case, without accents and with uniform white space."""
    folded = text.casefold()
    if not folded.isascii():
        folded = _ACCENTS.sub("", normalised(folded, "NFKD")).casefold()
    return " ".join(folded.split())


def _trigrams(text: str) -> npt.NDArray[np.uint32]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4") * _MULTIPLIER
    return (codes[:-2] * _MULTIPLIER + codes[1:-1]) * _MULTIPLIER + codes[2:]


def _mix(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Distribute numbers over all 32 bits, wrapping around."""
    mixed = numbers * _MULTIPLIER
    mixed ^= mixed >> 15
    mixed *= _MULTIPLIER
    mixed ^= mixed >> 13
    return mixed


def _fingerprint(text: str) -> npt.NDArray[np.float64]:
    """Return a short vector that depends on every character of the text."""
    digest = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(_CONFIG.dimensions)
    values = np.frombuffer(digest, np.int8) + 0.5
    shortened: npt.NDArray[np.float64] = values * (_FINGERPRINT_LENGTH / np.linalg.norm(values))
    return shortened
