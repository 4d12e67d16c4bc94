"""A model's linear step behind its pooling."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from app.adapters.local.transformer import TransformerEmbedder
from app.domain.embedding import Vector
from app.domain.errors import ConfigurationError
from tests.adapters.local.tiny_model import write_model

STEPS = ("Transformer", "Pooling", "Normalize", "Dense", "Normalize")


def with_dense(folder: Path, *, steps: tuple[str, ...] = STEPS, **changed: Any) -> Path:
    directory = write_model(folder)
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": f"{n}_{kind}"} for n, kind in enumerate(steps)]
    dense = directory / "3_Dense"
    dense.mkdir()
    config = {"in_features": 8, "out_features": 5, "bias": True, "activation_function": "torch.nn.Identity", **changed}
    save_file({"linear.weight": weight(), "linear.bias": bias()}, dense / "model.safetensors")
    for path, content in ((directory / "modules.json", modules), (dense / "config.json", config)):
        path.write_text(str(content).replace("'", '"').replace("True", "true").replace("False", "false"), "utf-8")
    return directory


def weight() -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal((5, 8)).astype(np.float32)


def bias() -> np.ndarray[Any, Any]:
    return np.linspace(-1, 1, 5, dtype=np.float32)


def embedded(directory: Path, *texts: str) -> list[Vector]:
    async def once() -> list[Vector]:
        embedder = TransformerEmbedder(directory, exact=True)
        try:
            return list((await embedder.embed(texts, "document")).vectors)
        finally:
            await embedder.close()

    return asyncio.run(once())


@pytest.mark.parametrize("biased", [True, False])
def test_it_is_applied_to_unit_vectors_and_makes_unit_vectors(tmp_path: Path, biased: bool) -> None:  # noqa: FBT001
    texts = ["red green", "blue " * 30, ""]
    plain = np.array(embedded(write_model(tmp_path / "plain"), *texts))
    made = plain @ weight().T + (bias() if biased else 0)
    found = embedded(with_dense(tmp_path / "dense", bias=biased), *texts)
    np.testing.assert_allclose(found, made / np.linalg.norm(made, axis=1, keepdims=True), atol=1e-5)


def test_models_that_differ_in_it_have_different_names(tmp_path: Path) -> None:
    names = []
    for folder, added in (("a", 0), ("b", 1)):
        directory = with_dense(tmp_path / folder / "model")
        tensors = {"linear.weight": weight() + added, "linear.bias": bias()}
        save_file(tensors, directory / "3_Dense" / "model.safetensors")
        embedder = TransformerEmbedder(directory)
        names.append(embedder.config)
        asyncio.run(embedder.close())
    assert names[0].model != names[1].model
    assert {config.dimensions for config in names} == {5}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"steps": ("Transformer", "Pooling", "Dense")}, "Transformer, Pooling, Dense are not supported"),
        ({"steps": ("Transformer", "Pooling", "Normalize", "LayerNorm")}, "LayerNorm"),
        ({"activation_function": "torch.nn.modules.activation.Tanh"}, "without an activation function"),
        ({"out_features": 0}, "only a Dense module"),
        ({"out_features": 6}, r"linear\.weight has the shape"),
    ],
    ids=["unnormalised", "other", "activation", "none", "shape"],
)
def test_what_is_computed_otherwise_is_refused(tmp_path: Path, changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        TransformerEmbedder(with_dense(tmp_path / "model", **changed))
