"""A reader as small as they come, on the tiny model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.adapters.local.bert_weights import WORDS, BertShape, MappedTensors
from app.adapters.local.reader.local_reader import trunk_digest
from app.adapters.local.reader.tokens import ANSWERS, MAX_TOKENS, TYPES
from app.adapters.local.reader.weights import CARD, ReaderCard, write_tensors
from app.domain.reading import Thresholds
from tests.adapters.local.tiny_model import random_tensors, write_model

TEMPERATURES = {task.name.lower(): 1.0 for task in ANSWERS}
THRESHOLDS = Thresholds(hide=0.9, newer_first=0.7, same_frame=0.7, tells=0.6, follows=0.5, task=0.8)


def write_reader(
    directory: Path, *, trunk: Path | None = None, card: Mapping[str, Any] | None = None
) -> tuple[Path, Path]:
    """Write a trunk, if none is given, and a reader; ``card`` replaces entries of its card. Return both directories."""
    trunk = trunk or write_model(directory / "trunk")
    own = directory / "reader"
    own.mkdir()
    write_tensors(own, tensors())
    shape = BertShape.read(trunk / "config.json")
    with MappedTensors(trunk / "model.safetensors") as words:
        ReaderCard("reader-tiny", trunk_digest(words, shape), TEMPERATURES, THRESHOLDS).write(own, {})
    if card is not None:
        path = own / CARD
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | card), "utf-8")
    return trunk, own


def tensors() -> dict[str, npt.NDArray[np.float32]]:
    """Weights that are the same each time."""
    random = np.random.default_rng(11)
    found = {name: values for name, values in random_tensors().items() if name != WORDS}
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.position_embeddings.weight": (MAX_TOKENS, 8),
        "embeddings.token_type_embeddings.weight": (TYPES, 8),
    }
    for task, answers in ANSWERS.items():
        shapes |= {f"heads.{task.name.lower()}.weight": (answers, 16), f"heads.{task.name.lower()}.bias": (answers,)}
    return found | {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
