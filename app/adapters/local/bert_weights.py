"""Reads a BERT encoder's shape and weights from the files of a model."""

import json
import math
import mmap
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from app.adapters.local.model_files import read_json
from app.domain.errors import ConfigurationError

Matrix: TypeAlias = npt.NDArray[np.float32]

# The format of the file: https://github.com/huggingface/safetensors#format
_LENGTH_BYTES = 8
_FLOATS: Mapping[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_LEVELS: Mapping[str, np.dtype[Any]] = {"I8": np.dtype("i1")}

WORDS: Final = "embeddings.word_embeddings.weight"
"""The name of the table with a row for each word of the vocabulary."""
_REQUIRED = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}


@dataclass(frozen=True, slots=True)
class BertShape:
    """The values of config.json that the forward pass depends on."""

    hidden: int
    heads: int
    layers: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> "BertShape":
        """Read config.json.

        Raises:
            ConfigurationError: it describes an encoder that ``BertEncoder`` does not compute.
        """
        config = read_json(path)
        for name, supported in _REQUIRED.items():
            if (value := config.get(name, supported)) != supported:
                raise ConfigurationError(f"{path}: {name} is {value!r}; only {supported!r} is supported.")
        shape = cls(
            hidden=_positive(path, config, "hidden_size"),
            heads=_positive(path, config, "num_attention_heads"),
            layers=_positive(path, config, "num_hidden_layers"),
            intermediate=_positive(path, config, "intermediate_size"),
            vocabulary=_positive(path, config, "vocab_size"),
            positions=_positive(path, config, "max_position_embeddings"),
            types=_positive(path, {"type_vocab_size": 2, **config}, "type_vocab_size"),
            epsilon=_epsilon(path, config),
        )
        if shape.hidden % shape.heads:
            raise ConfigurationError(
                f"{path}: hidden_size {shape.hidden} is no multiple of num_attention_heads {shape.heads}.",
            )
        return shape


class MappedTensors:
    """The tensors of a file, mapped into memory and not copied: pages that are no longer read can leave it."""

    def __init__(self, path: Path, *, for_openvino: bool = True) -> None:
        """Map the file; OpenVINO takes no array that cannot be written, though it writes to none.

        Raises:
            ConfigurationError: it cannot be read.
        """
        self._path = path
        try:
            with safe_open(path, framework="numpy"):  # it checks the header
                pass
            with path.open("rb") as file:
                access = mmap.ACCESS_COPY if for_openvino else mmap.ACCESS_READ
                self._mapped = mmap.mmap(file.fileno(), 0, access=access)
        except (OSError, SafetensorError) as error:
            raise ConfigurationError(f"{path} cannot be read: {error}") from error
        self._begin = _LENGTH_BYTES + int.from_bytes(self._mapped[:_LENGTH_BYTES], "little")
        self._tensors = json.loads(self._mapped[_LENGTH_BYTES : self._begin])
        self._prefix = "bert." if "bert.embeddings.word_embeddings.weight" in self._tensors else ""
        """The prefix of the encoder's tensors in the file."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failure: object) -> None:
        """Release the memory; a later read goes to the file again."""
        if sys.platform != "win32":
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def tensor(self, name: str, *expected: int) -> Matrix:
        """Return one tensor as float32.

        Raises:
            ConfigurationError: it is absent, or has another type or shape.
        """
        return np.asarray(self.stored(name, *expected), dtype=np.float32)

    def stored(self, name: str, *expected: int) -> npt.NDArray[np.floating[Any]]:
        """Return one tensor as the file has it: only what is looked at is read.

        Raises:
            ConfigurationError: it is absent, or has another type or shape.
        """
        return self._mapping(name, _FLOATS, expected)

    def levels(self, name: str, *expected: int) -> npt.NDArray[np.int8]:
        """Return one tensor of int8 as the file has it.

        Raises:
            ConfigurationError: it is absent, or has another type or shape.
        """
        return self._mapping(name, _LEVELS, expected)

    def __contains__(self, name: str) -> bool:
        """Tell whether the file has a tensor of this name."""
        return self._prefix + name in self._tensors

    def _mapping(self, name: str, types: Mapping[str, np.dtype[Any]], expected: tuple[int, ...]) -> npt.NDArray[Any]:
        told = self._tensors.get(self._prefix + name)
        if told is None:
            raise ConfigurationError(f"{self._path} has no tensor {name}.")
        if told["dtype"] not in types:
            supported = " and ".join(types)
            raise ConfigurationError(f"{self._path}: {name} is of {told['dtype']}; only {supported} are supported.")
        if tuple(told["shape"]) != expected:
            raise ConfigurationError(f"{self._path}: {name} has the shape {tuple(told['shape'])}, not {expected}.")
        begin, _ = told["data_offsets"]
        values = np.frombuffer(self._mapped, types[told["dtype"]], math.prod(expected), self._begin + begin)
        return values.reshape(expected)


def _positive(path: Path, config: Mapping[str, Any], name: str) -> int:
    value = config.get(name)
    if not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{path}: {name} is {value!r}, not a positive integer.")
    return value


def _epsilon(path: Path, config: Mapping[str, Any]) -> float:
    value = config.get("layer_norm_eps", 1e-12)
    if not isinstance(value, float) or not 0 < value < 1:
        raise ConfigurationError(f"{path}: layer_norm_eps is {value!r}, not a number between 0 and 1.")
    return value
