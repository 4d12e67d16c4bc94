"""The encoder against BERT's definition, and which models are taken."""

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.adapters.local.bert import BertEncoder
from app.adapters.local.inference import compiled
from app.adapters.local.transformer import TransformerEmbedder
from app.domain.errors import ConfigurationError, EmbeddingUnavailable
from tests.adapters.local.tiny_model import CONFIG, VOCABULARY, Tensors, random_tensors, write_model

IDS = [2, 4, 7, 6, 3]
Matrix = npt.NDArray[np.float64]


def encode(directory: Path, *, tensors: Tensors | None = None) -> npt.NDArray[np.float32]:
    (vector,) = BertEncoder(write_model(directory, tensors=tensors), exact=True).encode([IDS])
    return vector


def test_a_vector_is_what_the_definition_of_bert_says(tmp_path: Path) -> None:
    np.testing.assert_allclose(encode(tmp_path / "tiny"), by_definition(random_tensors(), IDS), atol=1e-6)


def test_where_products_are_rounded_a_vector_is_nearly_what_the_definition_of_bert_says(tmp_path: Path) -> None:
    (vector,) = BertEncoder(write_model(tmp_path / "tiny")).encode([IDS])
    assert vector @ by_definition(random_tensors(), IDS) > 0.999


def test_a_vector_does_not_depend_on_its_batch(tmp_path: Path) -> None:
    encoder = BertEncoder(write_model(tmp_path / "tiny"), exact=True)
    batch = [IDS, [2, 5, 3], [2, 3], IDS * 2, [2, 7, 7, 4, 3], *[[2, 6, 6, 3]] * 9]
    for sequence, vector in zip(batch, encoder.encode(batch), strict=True):
        np.testing.assert_allclose(vector, encoder.encode([sequence])[0], atol=1e-6)


def test_threads_that_encode_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    encoder = BertEncoder(write_model(tmp_path / "tiny"), exact=True, passes=2)
    batches = [[[2, *[4 + number % 4] * (1 + number), 3]] for number in range(10)]
    expected = [encoder.encode(batch)[0] for batch in batches]
    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            found = [vector for (vector,) in threads.map(encoder.encode, batches)]
            np.testing.assert_allclose(found, expected, atol=1e-6)


class Request:
    """OpenVINO's memory for a pass, which fails as long as there are failures."""

    def __init__(self, request: Any, failures: list[Exception]) -> None:
        self._request = request
        self._failures = failures

    def infer(self, *arguments: Any, **named: Any) -> Any:
        if self._failures:
            raise self._failures.pop()
        return self._request.infer(*arguments, **named)


def test_a_pass_that_fails_is_an_outage_of_the_model_and_the_next_one_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = []

    class Compiled:
        def __init__(self, *arguments: Any, **named: Any) -> None:
            self._compiled = compiled(*arguments, **named)

        def create_infer_request(self) -> Request:
            return Request(self._compiled.create_infer_request(), failures)

    monkeypatch.setattr("app.adapters.local.bert.compiled", Compiled)
    encoder = BertEncoder(write_model(tmp_path / "tiny"), exact=True)
    failures += [RuntimeError("can't alloc"), MemoryError()]
    for _ in range(2):
        with pytest.raises(EmbeddingUnavailable, match="could not be computed"):
            encoder.encode([IDS])
    np.testing.assert_allclose(encoder.encode([IDS])[0], by_definition(random_tensors(), IDS), atol=1e-6)


def test_scores_too_large_for_exp_are_computed_all_the_same(tmp_path: Path) -> None:
    tensors = random_tensors()
    tensors["encoder.layer.0.attention.self.query.weight"] *= np.float32(1000)
    expected = by_definition(tensors, IDS)
    np.testing.assert_allclose(encode(tmp_path / "tiny", tensors=tensors), expected, atol=1e-4)


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 8},
        {"pooling_mode": "cls", "include_prompt": True},
    ],
)
async def test_a_vector_may_be_that_of_the_first_token(tmp_path: Path, pooling: Mapping[str, object]) -> None:
    write_model(tmp_path / "cls", files={"1_Pooling/config.json": pooling})
    write_model(tmp_path / "mean" / "cls")
    first, mean = (
        TransformerEmbedder(directory, exact=True) for directory in (tmp_path / "cls", tmp_path / "mean/cls")
    )
    (vector,) = (await first.embed(["red blue greenish"], "document")).vectors
    expected = by_definition(random_tensors(), [2, 4, 6, 5, 7, 3], first_token=True)
    np.testing.assert_allclose(vector, expected, atol=1e-6)
    assert first.config != mean.config, "the same weights, and other vectors"
    for embedder in (first, mean):
        await embedder.close()


def by_definition(tensors32: Tensors, ids: list[int], *, first_token: bool = False) -> Matrix:
    """BERT in float64, one step after another as in its paper."""
    tensors = {name: tensor.astype(np.float64) for name, tensor in tensors32.items()}

    def linear(name: str, inputs: Matrix) -> Matrix:
        return inputs @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(name: str, rows: Matrix) -> Matrix:
        rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-12)
        return rows * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    word, position, kind = (tensors[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type"))
    hidden = norm("embeddings.LayerNorm", word[ids] + position[: len(ids)] + kind[0])
    for layer in ("encoder.layer.0.", "encoder.layer.1."):
        query, key, value = (linear(f"{layer}attention.self.{n}", hidden) for n in ("query", "key", "value"))
        heads = []
        for head in (slice(0, 4), slice(4, 8)):
            scores = query[:, head] @ key[:, head].T / math.sqrt(4)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            heads.append(weights / weights.sum(1, keepdims=True) @ value[:, head])
        attended = linear(f"{layer}attention.output.dense", np.concatenate(heads, axis=1))
        hidden = norm(f"{layer}attention.output.LayerNorm", attended + hidden)
        inner = linear(f"{layer}intermediate.dense", hidden)
        inner *= 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        hidden = norm(f"{layer}output.LayerNorm", linear(f"{layer}output.dense", inner) + hidden)
    pooled: Matrix = hidden[0] if first_token else hidden.mean(0)
    return pooled / np.linalg.norm(pooled)


def test_weights_may_be_named_under_bert(tmp_path: Path) -> None:
    prefixed = {f"bert.{name}": tensor for name, tensor in random_tensors().items()}
    np.testing.assert_array_equal(encode(tmp_path / "bert", tensors=prefixed), encode(tmp_path / "plain"))


def test_weights_may_be_of_half_precision(tmp_path: Path) -> None:
    halves = {name: tensor.astype(np.float16) for name, tensor in random_tensors().items()}
    np.testing.assert_allclose(encode(tmp_path / "half", tensors=halves), encode(tmp_path / "full"), atol=0.01)


def test_weights_of_another_type_are_named(tmp_path: Path) -> None:
    doubles = {name: tensor.astype(np.float64) for name, tensor in random_tensors().items()}
    with pytest.raises(ConfigurationError, match="of F64; only F32 and F16"):
        encode(tmp_path / "double", tensors=doubles)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"config.json": {**CONFIG, "model_type": "roberta"}}, "model_type is 'roberta'"),
        ({"config.json": {**CONFIG, "hidden_act": "relu"}}, "hidden_act is 'relu'"),
        (
            {"config.json": {**CONFIG, "position_embedding_type": "relative_key"}},
            "position_embedding_type is 'relative_key'",
        ),
        ({"config.json": {**CONFIG, "num_attention_heads": 3}}, "no multiple of num_attention_heads 3"),
        ({"config.json": {**CONFIG, "hidden_size": None}}, "hidden_size is None"),
        ({"config.json": {**CONFIG, "layer_norm_eps": None}}, "layer_norm_eps is None"),
        ({"config.json": {**CONFIG, "layer_norm_eps": "x"}}, "layer_norm_eps is 'x'"),
        ({"config.json": {**CONFIG, "layer_norm_eps": -1.0}}, "layer_norm_eps is -1.0"),
        ({"config.json": {**CONFIG, "num_hidden_layers": 3}}, r"encoder\.layer\.2\."),
        ({"config.json": {**CONFIG, "intermediate_size": 32}}, r"intermediate\.dense\.weight has the shape \(16, 8\)"),
        ({"config.json": {**CONFIG, "vocab_size": 7}}, "word_embeddings"),
        ({"config.json": []}, "JSON object"),
        (
            {"1_Pooling/config.json": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}},
            "only pooling of mean_tokens or of cls_token.*cls_token.*mean_tokens",
        ),
        ({"1_Pooling/config.json": {"pooling_mode": "max"}}, "only pooling of.*max"),
        ({"1_Pooling/config.json": {"pooling_mode_mean_tokens": False}}, r"only pooling of.*not \[\]"),
        ({"modules.json": [{"type": "sentence_transformers.models.Dense"}]}, "modules Dense"),
        ({"modules.json": {"0": "Transformer"}}, "list of modules"),
        ({"sentence_bert_config.json": {"max_seq_length": 2}}, "max_seq_length is 2"),
    ],
)
def test_an_unsupported_model_is_refused_with_what_does_not_fit(
    tmp_path: Path,
    files: Mapping[str, object],
    named: str,
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        TransformerEmbedder(write_model(tmp_path / "tiny", files=files))


def test_more_tokens_than_embeddings_are_refused(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / "vocab.txt").write_text("\n".join([*VOCABULARY, "extra"]), "utf-8")
    with pytest.raises(ConfigurationError, match="more tokens than"):
        TransformerEmbedder(directory)


@pytest.mark.parametrize("missing", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / missing).unlink()
    with pytest.raises(ConfigurationError, match=missing):
        TransformerEmbedder(directory)


def test_a_damaged_weights_file_is_named(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ConfigurationError, match=r"model\.safetensors"):
        TransformerEmbedder(directory)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    tensors = random_tensors()
    del tensors["encoder.layer.1.output.LayerNorm.bias"]
    with pytest.raises(ConfigurationError, match=r"encoder\.layer\.1\.output\.LayerNorm\.bias"):
        encode(tmp_path / "tiny", tensors=tensors)
