"""Applies the linear step that some models have behind their pooling (sentence-transformers' Dense)."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_weights import MappedTensors, Matrix
from app.adapters.local.model_files import parse_json, read_json
from app.domain.errors import ConfigurationError

_ENCODER = ("Transformer", "Pooling")
_FORMS = ((*_ENCODER,), (*_ENCODER, "Normalize"), (*_ENCODER, "Normalize", "Dense", "Normalize"))
"""The steps that are computed. Vectors are made unit vectors at the end in any case."""
_IDENTITY = "Identity"


class Dense:
    """A matrix and a vector that is added: unit vectors go in, and unit vectors come out."""

    def __init__(self, weight: Matrix, bias: Matrix) -> None:
        """Take them."""
        self._weight, self._bias = weight, bias
        self.dimensions = len(bias)

    @classmethod
    def of_model(cls, directory: Path, dimensions: int) -> "Dense | None":
        """Return the step of the model in a directory; None where it has none.

        Raises:
            ConfigurationError: modules.json names steps that are not supported, or the step's files are not as they
                should be.
        """
        path = directory / "modules.json"
        modules = parse_json(path) if path.exists() else []
        if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
            raise ConfigurationError(f"{path} does not hold a list of modules.")
        kinds = tuple(str(module.get("type")).rpartition(".")[2] for module in modules)
        if kinds and kinds not in _FORMS:
            raise ConfigurationError(
                f"{path}: the modules {', '.join(kinds)} are not supported; it may be Transformer and Pooling, then "
                "Normalize, then Dense and Normalize."
            )
        if "Dense" not in kinds:
            return None
        return cls._read(directory / str(modules[kinds.index("Dense")].get("path")), dimensions)

    @classmethod
    def _read(cls, folder: Path, dimensions: int) -> "Dense":
        config = read_json(folder / "config.json")
        outputs, activation = config.get("out_features"), str(config.get("activation_function")).rpartition(".")[2]
        if activation != _IDENTITY or not isinstance(outputs, int) or outputs < 1:
            raise ConfigurationError(f"{folder}: only a Dense module without an activation function is supported.")
        with MappedTensors(folder / "model.safetensors") as tensors:
            weight = tensors.tensor("linear.weight", outputs, dimensions)
            bias = tensors.tensor("linear.bias", outputs) if config.get("bias", True) else np.zeros(outputs, np.float32)
            return cls(weight.copy(), bias.copy())

    def applied(self, vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the vectors that are made of unit vectors."""
        made: npt.NDArray[np.float32] = vectors @ self._weight.T + self._bias
        return made
