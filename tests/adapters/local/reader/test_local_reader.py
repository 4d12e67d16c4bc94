"""Which files of weights are taken, and what of them is computed."""

import asyncio
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from app.adapters.local.reader.local_reader import LocalReader
from app.adapters.local.reader.weights import CARD, TENSORS
from app.domain.errors import ConfigurationError, ReaderUnavailable
from tests.adapters.local.reader.tiny_reader import write_reader
from tests.adapters.local.tiny_model import random_tensors, write_model


def opened(trunk: Path, own: Path) -> None:
    asyncio.run(LocalReader(trunk, own).close())


@pytest.mark.parametrize("name", [CARD, TENSORS])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    trunk, own = write_reader(tmp_path)
    (own / name).unlink()
    with pytest.raises(ConfigurationError, match=name):
        opened(trunk, own)


@pytest.mark.parametrize("name", [CARD, TENSORS])
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    trunk, own = write_reader(tmp_path)
    path = own / name
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ConfigurationError, match=name):
        opened(trunk, own)


@pytest.mark.parametrize(
    "card", [{"format": 99}, {"thresholds": {}}, {"temperatures": {"kind": 1}}, {"version": None, "trunk": 1}]
)
def test_a_card_that_this_version_does_not_read_is_refused(tmp_path: Path, card: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=r"reader\.json|word embeddings"):
        opened(*write_reader(tmp_path, card=card))


def test_weights_that_were_trained_with_another_model_are_refused(tmp_path: Path) -> None:
    _, own = write_reader(tmp_path)
    other = {name: values + 1 for name, values in random_tensors().items()}
    trunk = write_model(tmp_path / "other", tensors=other)
    with pytest.raises(ConfigurationError, match="other word embeddings"):
        opened(trunk, own)


def test_a_tensor_of_another_shape_is_named(tmp_path: Path) -> None:
    trunk, own = write_reader(tmp_path)
    tensors = load_file(own / TENSORS)
    tensors["heads.kind.bias"] = tensors["heads.kind.bias"][:2]
    save_file(tensors, own / TENSORS)
    with pytest.raises(ConfigurationError, match=r"heads\.kind\.bias"):
        opened(trunk, own)


async def test_a_text_that_is_read_again_is_not_computed_again(tmp_path: Path) -> None:
    reader = LocalReader(*write_reader(tmp_path))
    first = await reader.relations([("red", "green"), ("red", "blue")])
    await reader.close()
    assert await reader.relations([("red", "blue"), ("red", "green")]) == [first[1], first[0]]


async def test_calls_that_come_together_before_the_weights_are_loaded_are_all_answered(tmp_path: Path) -> None:
    reader = LocalReader(*write_reader(tmp_path))
    together = await asyncio.gather(*(reader.relations([("red", "green")], seconds=60) for _ in range(5)))
    assert together == [together[0]] * 5
    await reader.close()


async def test_weights_that_are_gone_when_they_are_needed_make_the_reader_unavailable(tmp_path: Path) -> None:
    trunk, own = write_reader(tmp_path)
    reader = LocalReader(trunk, own)
    (trunk / "vocab.txt").unlink()
    with pytest.raises(ReaderUnavailable, match="vocab"):
        await reader.kinds(["red"])
    await reader.close()
