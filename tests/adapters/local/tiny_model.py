"""A BERT model as small as they come, written to a directory as sentence-transformers would."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "##ish"]
CONFIG: Mapping[str, object] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 16,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 12,
    "type_vocab_size": 2,
}


def write_model(directory: Path, *, tensors: Tensors | None = None, files: Mapping[str, object] | None = None) -> Path:
    """Write the model with other tensors, or with other JSON files, than its own."""
    (directory / "1_Pooling").mkdir(parents=True)
    (directory / "vocab.txt").write_text("\n".join(VOCABULARY), "utf-8")
    save_file(dict(random_tensors() if tensors is None else tensors), directory / "model.safetensors")
    for name, content in {"config.json": CONFIG, **(files or {})}.items():
        (directory / name).write_text(json.dumps(content), "utf-8")
    return directory


def random_tensors() -> dict[str, npt.NDArray[np.float32]]:
    """Weights that are the same each time."""
    random = np.random.default_rng(7)
    sizes: dict[str, tuple[int, ...]] = {"word": (len(VOCABULARY), 8), "position": (12, 8), "token_type": (2, 8)}
    shapes = {f"embeddings.{name}_embeddings.weight": size for name, size in sizes.items()}
    shapes |= {"embeddings.LayerNorm.weight": (8,), "embeddings.LayerNorm.bias": (8,)}
    linear = {
        "attention.self.query": (8, 8),
        "attention.self.key": (8, 8),
        "attention.self.value": (8, 8),
        "attention.output.dense": (8, 8),
        "intermediate.dense": (16, 8),
        "output.dense": (8, 16),
    }
    for layer in ("encoder.layer.0.", "encoder.layer.1."):
        shapes |= {f"{layer}{name}.weight": size for name, size in linear.items()}
        shapes |= {f"{layer}{name}.bias": size[:1] for name, size in linear.items()}
        norms = [
            f"{layer}{part}.LayerNorm.{kind}" for part in ("attention.output", "output") for kind in ("weight", "bias")
        ]
        shapes |= dict.fromkeys(norms, (8,))
    return {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
