"""Puts a prefix before embedded texts, for models that were trained with one ("query: ...", "passage: ...")."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from app.domain.embedding import EmbeddingConfig
from app.ports.embedder import Embedder, Embeddings, Purpose

_SEARCHING = "Represent this sentence for searching relevant passages: "


class ClosableEmbedder(Embedder, Protocol):
    """An embedder with connections or threads to close."""

    async def close(self) -> None:
        """Close the connections or threads."""
        ...


_E = TypeVar("_E", bound=ClosableEmbedder)


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The prefixes of each query and each document; empty for none."""

    query: str = ""
    document: str = ""

    @classmethod
    def of_model(cls, model: str, *, query: str | None = None, document: str | None = None) -> "Prefixes":
        """Return the given prefixes; where one is None, the prefix that the model is known to need.

        The known query prefix goes with the known document prefix: with another document prefix, or none, it is not
        used.
        """
        known = _known(model)
        document = known.document if document is None else document
        fitting = known.query if document == known.document else ""
        return cls(fitting if query is None else query, document)

    @classmethod
    def of_data(cls, model: str, *, query: str | None = None, document: str | None = None) -> "Sequence[Prefixes]":
        """Return the prefixes of data of another config, which tells only their digest; the likeliest come first.

        The given query prefix belongs to the document prefix that is given beside it, not to any other model. Data
        that was stored without a prefix is queried without one, as before, unless its model needs a prefix for queries
        alone.
        """
        given = [cls.of_model(model, query=query, document=document)] if document else []
        return [*given, cls.of_model(model), cls()]


_FINGERPRINT = "(-[0-9a-f]{8})?"
"""The digest behind the name of a local model."""
# The prefixes that the models' cards name. A model that is not here gets its texts as they are.
_CARDS = (
    (r"(multilingual-)?e5-(small|base|large)(-v2)?", Prefixes("query: ", "passage: ")),
    (r"bge-(small|base|large)-en(-v1\.5)?", Prefixes(_SEARCHING)),
    (r"mxbai-embed-large(-v1)?", Prefixes(_SEARCHING)),
    (r"snowflake-arctic-embed(-xs|-s|-m|-m-long|-m-v1\.5|-l)?", Prefixes(_SEARCHING)),
    (r"nomic-embed-text(-v1|-v1\.5|-v2-moe)?", Prefixes("search_query: ", "search_document: ")),
    (r"embeddinggemma(-300m)?", Prefixes("task: search result | query: ", "title: none | text: ")),
)
_KNOWN = tuple((re.compile(name + _FINGERPRINT), prefixes) for name, prefixes in _CARDS)


def _known(model: str) -> Prefixes:
    """Look the model up by its name, in lower case, without the vendor before it and the tag behind it."""
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((prefixes for form, prefixes in _KNOWN if form.fullmatch(name)), Prefixes())


class PrefixedEmbedder:
    """Another embedder whose texts get a prefix by their purpose.

    The prefix stands before the text, so that of a text too long for the model only the first window has it.
    """

    def __init__(self, embedder: ClosableEmbedder, prefixes: Prefixes) -> None:
        """Wrap an embedder."""
        self._embedder = embedder
        self._prefixes = prefixes
        self._config = embedder.config.with_document_prefix(prefixes.document)

    @property
    def query_prefix(self) -> str:
        """The prefix of each query."""
        return self._prefixes.query

    @property
    def config(self) -> EmbeddingConfig:
        """Return the other embedder's config, of which a document prefix makes another config."""
        return self._config

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text with the purpose's prefix before it."""
        prefix = self._prefixes.query if purpose == "query" else self._prefixes.document
        return await self._embedder.embed([prefix + text for text in texts], purpose, tenant_id=tenant_id)

    async def ping(self) -> None:
        """Return if the other embedder answers."""
        await self._embedder.ping()

    async def close(self) -> None:
        """Close the other embedder."""
        await self._embedder.close()


def prefixed(embedder: _E, prefixes: Prefixes) -> _E | PrefixedEmbedder:
    """Wrap an embedder whose model needs a prefix; return any other as it is."""
    return embedder if prefixes == Prefixes() else PrefixedEmbedder(embedder, prefixes)
