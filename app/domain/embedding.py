"""Vectors, and the embedding configs by which they are made."""

import binascii
import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.domain.json_types import Json

Vector: TypeAlias = npt.NDArray[np.float32]
"""One embedding: float32, one dimension, unit length, so that a dot product is the cosine."""

_INDEX_NAME_BYTES = 64
_CLEAR = 5.6
"""How many standard deviations a clear answer lies above unrelated texts: as many as with all-MiniLM-L6-v2."""
_HARDLY = 9.0
"""Where the answers lie within 1.6 standard deviations of unrelated texts, a cosine tells hardly anything."""
_LEAST_GAP = 1e-6
_SAME_TEXT = 0.99
_LEAST_LENGTH = 1e-30
_FIRST_ROWS = 8
_ROWS_FOR_EACH = 2
"""A matrix of up to so many rows for each vector that is compared is multiplied whole: taking rows out costs more."""
_NO_NAME = re.compile(r"[^a-z0-9_]+")
_WITH_PREFIX = re.compile(r"\A(.+)#[0-9a-f]{8}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """The model and the dimensions that a vector was made with. Vectors of two configs are never compared."""

    provider: str
    model: str
    dimensions: int
    shortened: bool = field(default=False, compare=False)
    """Whether the model makes more dimensions than these by default."""

    @property
    def index_name(self) -> str:
        """``lt-memory-<provider>-<model>`` in the form Vectorize allows, with ``-<dimensions>`` where shortened."""
        return _index_name(self.provider, f"{self.model}-{self.dimensions}" if self.shortened else self.model)

    def index_name_in(self, shard: str) -> str:
        """Return the name of the config's index in a shard beside the first: ``index_name`` with ``-shard-<name>``."""
        return index_name_in_shard(self.index_name, shard)

    @property
    def is_multilingual(self) -> bool:
        """Whether the model is told to know many languages, by its name."""
        return "multilingual" in self.model

    @property
    def label(self) -> str:
        """Return ``provider/model/dimensions``, the config's name beside a vector."""
        return f"{self.provider}/{self.model}/{self.dimensions}"

    def with_document_prefix(self, prefix: str) -> "EmbeddingConfig":
        """Return the config of vectors of prefixed texts, whose model is ``model#<digest of the prefix>``.

        A text with another prefix gets another vector. The prefix of queries is no part of what is stored.
        """
        if not prefix:
            return self
        return replace(self, model=f"{self.model}#{hashlib.sha256(prefix.encode()).hexdigest()[:8]}")

    @property
    def without_document_prefix(self) -> "EmbeddingConfig":
        """Return the config of the same model's vectors of the bare texts."""
        named = _WITH_PREFIX.fullmatch(self.model)
        return replace(self, model=named[1]) if named else self

    @property
    def argument(self) -> dict[str, Json]:
        """Return the values of a statement that writes the config."""
        return {
            "index_name": self.index_name,
            "provider": self.provider,
            "model": self.model,
            "dimensions": self.dimensions,
        }

    @staticmethod
    def from_json(text: str) -> "EmbeddingConfig":
        """Read a config from a JSON array of its provider, model, dimensions and index name."""
        return _from_json(text)

    def __str__(self) -> str:
        """Return the config as a person reads it."""
        return f"{self.provider}/{self.model} ({self.dimensions} dimensions)"


def encode(vector: Vector) -> str:
    """Write a vector as text: little-endian float16 in base 64 (ADR 0008)."""
    return binascii.b2a_base64(vector.astype("<f2").tobytes(), newline=False).decode()


def decode(text: str, dimensions: int) -> Vector:
    """Read what ``encode`` wrote.

    Raises:
        ValueError: the text has another length.
    """
    if len(text) not in lengths(dimensions):
        raise ValueError(f"A queued vector of {len(text)} characters is damaged.")
    return decoded(text, dimensions).astype(np.float32)


def lengths(dimensions: int) -> tuple[int, int]:
    """Return the characters of a vector in float16, as ``encode`` writes it, and in float32, as older versions did.

    A vector of another length is damaged.
    """
    return (_base64(2 * dimensions), _base64(4 * dimensions))


def _base64(size: int) -> int:
    return 4 * -(-size // 3)


def decoded(text: str, dimensions: int) -> npt.NDArray[np.floating]:
    """Read the numbers as they are queued: of two bytes each or, from older versions, four, as the length tells."""
    data = binascii.a2b_base64(text)
    return np.frombuffer(data, f"<f{len(data) // dimensions}")


class NamedVectors:
    """Vectors by name in one matrix, of unit length: all are compared with a query at once, and decoded once.

    Vectors are only added, so that what ``compared`` has returned stays as it is.
    """

    __slots__ = ("_rows", "_units")

    def __init__(self, dimensions: int) -> None:
        """Begin without vectors."""
        self._rows: dict[str, int] = {}
        self._units = np.empty((0, dimensions), np.float32)

    def __contains__(self, name: str) -> bool:
        """Return whether a vector has this name."""
        return name in self._rows

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._rows)

    @property
    def dimensions(self) -> int:
        """The dimensions of each vector."""
        return self._units.shape[1]

    @property
    def size(self) -> int:
        """The bytes of the matrix."""
        return self._units.nbytes

    @property
    def names(self) -> Collection[str]:
        """The names, in the order in which they were added."""
        return self._rows.keys()

    def add(self, name: str, vector: npt.NDArray[np.floating]) -> None:
        """Add a vector of any length but zero under a new name."""
        number = len(self._rows)
        if number == len(self._units):
            units = np.empty((max(_FIRST_ROWS, 2 * number), self.dimensions), np.float32)
            units[:number] = self._units
            self._units = units
        unit = self._units[number]
        unit[:] = vector
        unit /= max(math.sqrt(unit @ unit), _LEAST_LENGTH)
        self._rows[name] = number

    def of(self, names: Sequence[str]) -> "NamedVectors":
        """Return the vectors of these names apart."""
        some = NamedVectors(self.dimensions)
        some._units = self._units[[self._rows[name] for name in names]]
        some._rows = {name: row for row, name in enumerate(names)}
        return some

    def compared(self, names: Sequence[str]) -> Callable[[Vector], list[float]]:
        """Return what compares the vectors of these names with a query, and returns the cosine of each."""
        if not names:  # mostly none is queued
            return lambda _: []
        rows = np.fromiter(map(self._rows.__getitem__, names), np.intp, len(names))
        units = self._units[: len(self._rows)]
        if len(units) > _ROWS_FOR_EACH * len(names):
            units, rows = units[rows], np.arange(len(names))
        return lambda query: np.clip((units @ query)[rows], -1, 1).tolist()

    def nearest(self, query: Vector, most: int) -> list[str]:
        """Return the names of the vectors nearest to a query, at most so many, in no order."""
        names = list(self._rows)
        if len(names) <= most:
            return names
        cosines = self._units[: len(names)] @ query
        return [names[row] for row in np.argpartition(cosines, -most)[-most:].tolist()]


def same_text(one: Vector, other: Vector) -> bool:
    """Tell whether two vectors of one config are of the same text: a provider's answers differ in the last digits."""
    if one.shape != other.shape:
        return False
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return lengths > 0 and float(one @ other) / lengths >= _SAME_TEXT


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The scale of a config's cosines, by which the cosines of two models can be compared (docs/retrieval.md).

    ``unrelated`` is the mean cosine of a question and a text that does not answer it, ``spread`` its standard
    deviation, ``related`` the mean cosine of a question and its answer.
    """

    unrelated: float
    spread: float
    related: float

    def nearness(self, cosine: float) -> float:
        """Return 0 for a cosine as between unrelated texts, 1 for one as between a question and its answer.

        Where the answers do not stand out clearly from the unrelated texts, 1 is further away, since a cosine is then
        weaker evidence. Adding to all cosines, or stretching them, changes nothing.
        """
        return self.nearnesses([cosine])[0]

    def nearnesses(self, cosines: Iterable[float]) -> list[float]:
        """Return the ``nearness`` of each cosine."""
        gap = max(self.related - self.unrelated, _LEAST_GAP)
        width = max(gap, _CLEAR * self.spread, _HARDLY * self.spread**2 / gap)
        return [(cosine - self.unrelated) / width for cosine in cosines]


USUAL_SCALE = CosineScale(unrelated=0.05, spread=0.08, related=0.6)
"""The scale that is assumed of a config that could not be measured yet: about that of all-MiniLM-L6-v2."""


@dataclass(frozen=True, slots=True)
class EmbeddingConfigs:
    """The configs that the data is embedded with: recalls search ``active``, stores write to ``shadow`` as well."""

    active: EmbeddingConfig
    shadow: EmbeddingConfig | None = None
    epoch: int = field(default=0, compare=False)
    """Rises with every change."""
    building: frozenset[str] = field(default=frozenset(), compare=False)
    """The names of indexes that are being made: no vector is sent to them."""

    @property
    def configs(self) -> tuple[EmbeddingConfig, ...]:
        """The configs with which every memory is embedded."""
        return (self.active,) if self.shadow is None else (self.active, self.shadow)

    @property
    def by_index(self) -> dict[str, EmbeddingConfig]:
        """These configs by the names of their indexes."""
        return {config.index_name: config for config in self.configs}

    @property
    def argument(self) -> dict[str, Json]:
        """The names of both indexes, which the gate of writes compares with the indexes in use."""
        return {
            "active": self.active.index_name,
            "shadow": None if self.shadow is None else self.shadow.index_name,
        }


@lru_cache(maxsize=64)
def _from_json(text: str) -> EmbeddingConfig:
    provider, model, dimensions, index_name = json.loads(text)
    config = EmbeddingConfig(provider, model, dimensions)
    return config if config.index_name == index_name else EmbeddingConfig(provider, model, dimensions, shortened=True)


def index_name_in_shard(index_name: str, shard: str) -> str:
    """Return the name that an index has in a shard beside the first, cut to what Vectorize takes."""
    return _cut(f"{index_name}-shard-{shard}")


@lru_cache(maxsize=64)
def _index_name(provider: str, model: str) -> str:
    return _cut(_NO_NAME.sub("-", f"lt-memory-{provider}-{model}".lower()))


def _cut(slug: str) -> str:
    if len(slug) > _INDEX_NAME_BYTES:  # configs that differ only in what is cut off must not share an index
        digest = hashlib.sha256(slug.encode()).hexdigest()[:8]
        slug = f"{slug[: _INDEX_NAME_BYTES - 9]}-{digest}"
    return slug.strip("-_")
