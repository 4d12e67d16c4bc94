"""Reads with the weights that the package carries, on threads of its own."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_weights import WORDS, BertShape, MappedTensors
from app.adapters.local.passes import Passes
from app.adapters.local.reader.encoder import ReaderEncoder
from app.adapters.local.reader.tokens import MAX_TOKENS, ReaderTokens, Task, TokenSequence
from app.adapters.local.reader.weights import ReaderCard, ReaderWeights, reader_shape
from app.adapters.local.wordpiece import WordPiece
from app.domain.errors import ConfigurationError, ReaderUnavailable
from app.domain.reading import Kinds, Relation, Thresholds
from app.ports.reader import MAX_CHARACTERS

_T = TypeVar("_T")
_Probabilities = npt.NDArray[np.float64]

PACKAGED: Final = Path(__file__).parent / "model"
"""The folder in which the package has the weights."""
_YES = 1
"""The number of the answer "yes" to a task with a yes-or-no question."""
_CACHED = 20_000
"""Answers that are cached, each of about 300 bytes: texts that are read again are mostly the same."""
_INLINE_CHARACTERS = 4096
"""Texts up to this length are tokenized faster than a thread hop takes."""


class LocalReader:
    """A reader on this machine's CPU; tenants take turns at its passes (ADR 0020)."""

    def __init__(
        self, trunk: Path, directory: Path = PACKAGED, *, threads: int = 1, tokenizer: WordPiece | None = None
    ) -> None:
        """Look whether the weights can be used; they are loaded by the first call.

        Args:
            trunk: the directory of the embedding model whose word embeddings they were trained with.
            directory: the directory of the weights.
            tokenizer: the trunk's, where it is loaded already.
            threads: how many passes run concurrently.

        Raises:
            ConfigurationError: the weights are missing, truncated, of another version, or made for another trunk.
        """
        self._card = ReaderCard.read(directory)
        shape = BertShape.read(trunk / "config.json")
        self._trunk, self._tokenizer, self._threads = trunk, tokenizer, threads
        self._shape = reader_shape(shape, MAX_TOKENS)
        self._words = MappedTensors(trunk / "model.safetensors")
        with self._words:
            found = trunk_digest(self._words, shape)
        if found != self._card.trunk:
            raise ConfigurationError(
                f"The reader in {directory} was trained with other word embeddings than {trunk} has."
            )
        self._weights = ReaderWeights(directory, self._words, shape)
        self._loading = asyncio.Lock()
        self._loaded: tuple[ReaderTokens, ReaderEncoder] | None = None
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="reader")
        self._passes: Passes[TokenSequence, _Probabilities] = Passes(self._computed, self._run, threads)
        self._cache: OrderedDict[bytes, _Probabilities] = OrderedDict()

    @property
    def version(self) -> str:
        """The name of the weights."""
        return self._card.version

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that came with the weights."""
        return self._card.thresholds

    async def relations(
        self, pairs: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Relation]:
        """Return for each pair of an older and a newer statement how the newer one bears on the older."""
        rows = await self._read(Task.RELATION, pairs, tenant_id, seconds)
        return [Relation(*map(float, row)) for row in rows]

    async def relevance(
        self, question: str, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Return for each text how likely it answers the question, now or in the past."""
        rows = await self._read(Task.RELEVANCE, [(question, text) for text in texts], tenant_id, seconds)
        return [float(row[_YES]) for row in rows]

    async def kinds(
        self, texts: Sequence[str], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[Kinds]:
        """Return for each text how likely it is of each kind."""
        rows = await self._read(Task.KIND, [(text, None) for text in texts], tenant_id, seconds)
        return [Kinds(*map(float, row)) for row in rows]

    async def follows(
        self, claims: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        """Return for each pair of sources and a claim how likely it follows from them."""
        rows = await self._read(Task.FOLLOWS, claims, tenant_id, seconds)
        return [float(row[_YES]) for row in rows]

    async def ping(self) -> None:
        """Return if a thread runs work."""
        await self._run(bool)

    async def close(self) -> None:
        """Stop the threads after their current passes."""
        await asyncio.to_thread(self._executor.shutdown)

    async def _read(
        self, task: Task, texts: Sequence[tuple[str, str | None]], tenant_id: str, seconds: float | None
    ) -> Sequence[_Probabilities]:
        """Return the answers to a task, of which some are cached; raises ``ReaderUnavailable``."""
        keys = [_key(task, first, second) for first, second in texts]
        found = {key: self._cache[key] for key in keys if key in self._cache}
        missing = {key: pair for key, pair in zip(keys, texts, strict=True) if key not in found}
        if missing:
            await self._load()
            try:
                async with asyncio.timeout(seconds):
                    sequences = await self._sequences(task, list(missing.values()))
                    computed = await self._passes.encode(tenant_id, sequences)
            except TimeoutError as error:
                raise ReaderUnavailable("The reader had no time to read.") from error
            found |= zip(missing, computed, strict=True)
        for key in found:
            self._cache[key] = found[key]
            self._cache.move_to_end(key)
        while len(self._cache) > _CACHED:
            self._cache.popitem(last=False)
        return [found[key] for key in keys]

    async def _sequences(self, task: Task, texts: Sequence[tuple[str, str | None]]) -> list[TokenSequence]:
        tokens, _ = self._parts

        def made() -> list[TokenSequence]:
            return [tokens.sequence(task, first, second) for first, second in texts]

        characters = sum(min(len(text or ""), MAX_CHARACTERS) for pair in texts for text in pair)
        return made() if characters <= _INLINE_CHARACTERS else await self._run(made)

    async def _load(self) -> None:
        """Load the model, where nobody has; a first call takes this time beside its own, and the others wait for it."""
        if self._loaded is None:
            async with self._loading:
                if self._loaded is None:
                    self._loaded = await self._run(self._opened)

    def _opened(self) -> tuple[ReaderTokens, ReaderEncoder]:
        try:
            tokenizer = self._tokenizer or WordPiece.from_directory(self._trunk)
            with self._words, self._weights as weights:
                return ReaderTokens(tokenizer), ReaderEncoder(self._shape, weights, self._card, passes=self._threads)
        except ConfigurationError as error:
            raise ReaderUnavailable(f"The reader cannot be loaded: {error.detail}") from error

    @property
    def _parts(self) -> tuple[ReaderTokens, ReaderEncoder]:
        assert self._loaded is not None  # noqa: S101 - each reading loads it first
        return self._loaded

    def _computed(self, sequences: Sequence[TokenSequence]) -> list[_Probabilities]:
        return self._parts[1].read(sequences)

    async def _run(self, work: Callable[..., _T], *arguments: object) -> _T:
        try:
            future = asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
        except RuntimeError as error:  # an executor raises it when it was shut down
            raise ReaderUnavailable("The reader is not running.") from error
        return await future


def trunk_digest(words: MappedTensors, shape: BertShape) -> str:
    """Return the SHA-256 of an embedding model's word embeddings, of every hundredth row of them."""
    rows = words.tensor(WORDS, shape.vocabulary, shape.hidden)[::100]
    return hashlib.sha256(np.ascontiguousarray(rows, np.float32).tobytes()).hexdigest()


def _key(task: Task, first: str, second: str | None) -> bytes:
    digest = hashlib.blake2b(bytes([task, second is not None]), digest_size=16)
    for text in (first, second or ""):
        part = text[:MAX_CHARACTERS].encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(4, "little") + part)
    return digest.digest()
