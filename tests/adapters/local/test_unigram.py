"""The unigram tokenizer, against the tokenizer these models are published with."""
# ruff: noqa: RUF001 - texts in many scripts are full of look-alikes

import base64
import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from app.adapters.local.charsmap import Charsmap
from app.adapters.local.transformer import TransformerEmbedder
from app.adapters.local.unigram import Unigram
from app.domain.errors import ConfigurationError
from tests.adapters.local.charsmaps import compiled
from tests.adapters.local.tiny_model import write_model
from tests.support.generation import examples

PIECES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁": -4.0,
    "▁a": -3.5,
    "a": -4.5,
    "▁re": -5.0,
    "d": -5.5,
    "▁red": -10.2,
    "e": -4.2,
    "r": -4.3,
    "ed": -6.0,
    "▁que": -8.0,
    "ry": -8.5,
    "▁quer": -12.0,
    "y": -5.1,
    ":": -6.0,
    "<": -7.0,
    "s": -4.4,
    ">": -7.1,
    "/": -7.2,
    "世": -9.0,
    "世界": -9.5,
    "é": -7.5,
    "fi": -8.1,
    "i": -4.6,
}
CONTROL = ["<s>", "<pad>", "</s>", "<unk>"]
RULES = {
    **dict.fromkeys("\t\n\r\xa0\u2028\u3000", " "),
    "e\u0301": "é",
    "ﬁ": "fi",
    "\u00ad": "",
    "ａ": "a",
    "…": "...",
    "Ⅳ": "IV",
    "가": "가",
}


def tokenizer(**changed: Any) -> dict[str, Any]:
    """The form of a published tokenizer.json."""
    charsmap = base64.b64encode(compiled(RULES)).decode()
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number, "content": content, "special": True, "normalized": False, "single_word": False}
            | {"lstrip": False, "rstrip": False}
            for number, content in enumerate(CONTROL)
        ],
        "normalizer": {"type": "Sequence", "normalizers": [precompiled, spaces]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": [list(each) for each in PIECES.items()]},
    } | changed


def write(directory: Path, content: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    return directory


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Unigram:
    read = Unigram.from_directory(write(tmp_path_factory.mktemp("model"), tokenizer()))
    assert read is not None
    return read


@pytest.fixture(scope="module")
def theirs() -> Tokenizer:
    return Tokenizer.from_str(json.dumps(tokenizer()))


TEXTS = {
    "words": "a red query: a re d",
    "the likeliest pieces, not the longest": "query red",
    "white space": "  a\t\nred \u3000 a ",
    "nothing": "",
    "only white space": " \n",
    "unknown characters": "ax a xyz zz 界",
    "a word of many": "ared" * 40,
    "no spaces": "世界世世界a",
    "rules": "e\u0301 ﬁ a\u00add ａ … Ⅳ 가 e\u0302",
    "the space's own sign": "a▁red",
    "emoji": "👩‍👩‍👧 a 🙂",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_has_the_ids_of_the_published_tokenizer(ours: Unigram, theirs: Tokenizer, text: str) -> None:
    assert ours.ids(text) == theirs.encode(text, add_special_tokens=False).ids


ALPHABET = st.sampled_from("aredquy:si/ \t\u00a0\u3000世界éﬁ…xz")


@settings(deadline=None, max_examples=examples(300))
@given(text=st.text(ALPHABET))
def test_any_text_has_the_ids_of_the_published_tokenizer(ours: Unigram, theirs: Tokenizer, text: str) -> None:
    assert ours.ids(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("token", CONTROL)
def test_a_control_token_written_in_a_text_is_ordinary_text(ours: Unigram, token: str) -> None:
    ids = {number for number, piece in enumerate(PIECES) if piece in {"<s>", "<pad>", "</s>"}}
    assert not ids & set(ours.ids(f"a {token} a"))


def test_half_of_a_surrogate_pair_is_taken_as_some_character(ours: Unigram) -> None:
    assert ours.ids("a\ud800 a") == ours.ids("a? a")


@settings(deadline=None, max_examples=examples(100))
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_rules_of_a_normal_form_bring_a_text_to_it(text: str) -> None:
    rules = {character: unicodedata.normalize("NFKC", character) for character in set(text) - {"\0"}}
    kept = {character: form for character, form in rules.items() if form != character}
    expected = "".join(kept.get(character, character) for character in text)
    assert Charsmap(compiled(kept or {"x": "x"})).normalized(text) == expected


def changed_model(**changed: object) -> dict[str, Any]:
    return tokenizer(model={**tokenizer()["model"], **changed})


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (tokenizer(normalizer={"type": "Lowercase"}), "needs Lowercase"),
        (tokenizer(normalizer={"type": "Replace", "pattern": {"String": "``"}, "content": '"'}), "needs Replace"),
        (tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}), "cut off"),
        (tokenizer(normalizer={"type": "Precompiled", "precompiled_charsmap": "?"}), "base 64"),
        (tokenizer(pre_tokenizer={"type": "ByteLevel"}), "needs ByteLevel"),
        (changed_model(byte_fallback=True), "byte_fallback"),
        (changed_model(vocab=[["<s>", 0.0], ["a", -1.0]], unk_id=0), "lacks </s>"),
        (changed_model(unk_id=99), "unknown token"),
        (changed_model(vocab=[["a"]]), "unigram tokenizer"),
        (changed_model(unk_id=None), "unigram tokenizer"),
    ],
)
def test_a_tokenizer_that_is_not_supported_is_refused_with_what_does_not_fit(
    tmp_path: Path, content: object, named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Unigram.from_directory(write(tmp_path, content))


async def test_a_model_with_such_a_tokenizer_is_a_model_like_any_other(tmp_path: Path) -> None:
    vocabulary = [[piece, PIECES[piece]] for piece in ["<s>", "<pad>", "</s>", "<unk>", "▁red", "▁a", "▁"]]
    directory = write_model(tmp_path / "tiny")
    assert Unigram.from_directory(directory) is None
    write(directory, changed_model(vocab=vocabulary))
    (directory / "vocab.txt").unlink()
    embedder = TransformerEmbedder(directory)
    embedded = await embedder.embed(["red a", "a red", "red a"], "document")
    assert embedded.tokens == 12
    first, other, same = embedded.vectors
    assert np.allclose(first, same, atol=1e-6)
    assert (first != other).any()
    await embedder.close()
