"""The double's OpenAI and Workers AI."""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pytest

from tests.double.conftest import Client, code

SMALL = "text-embedding-3-small"


def embedded(client: Client, texts: Any, **fields: Any) -> npt.NDArray[np.float64]:
    answer = client.openai({"model": SMALL, "input": texts} | fields)
    assert answer.status_code == 200, answer.text
    return np.array([entry["embedding"] for entry in answer.json()["data"]])


def run(client: Client, model: str, **body: Any) -> npt.NDArray[np.float64]:
    answer = client.post(f"/ai/run/{model}", body)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    assert result["shape"] == [len(result["data"]), len(result["data"][0])]
    return np.array(result["data"])


def test_an_embedding_has_openais_form(client: Client) -> None:
    answer = client.openai({"model": SMALL, "input": ["one", "two three"]})
    body = answer.json()
    assert (body["object"], body["model"], body["usage"]) == (
        "list",
        SMALL,
        {"prompt_tokens": 4, "total_tokens": 4},
    )
    assert [(entry["object"], entry["index"], len(entry["embedding"])) for entry in body["data"]] == [
        ("embedding", 0, 1536),
        ("embedding", 1, 1536),
    ]
    assert {"x-request-id", "openai-processing-ms", "x-ratelimit-remaining-requests"} <= set(answer.headers)
    assert "ratelimit" not in answer.headers


def test_vectors_are_units_that_do_not_depend_on_the_batch(client: Client) -> None:
    together = embedded(client, ["the cat sat", "  ", "äöü 漢字"])
    assert np.linalg.norm(together, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    assert (embedded(client, "the cat sat")[0] == together[0]).all()


def test_similar_texts_are_near_each_other(client: Client) -> None:
    invoice, like, other = embedded(
        client, ["invoices in Swedish please", "send the invoices in Swedish", "a walk on the beach"]
    )
    assert invoice @ like > 0.4 > invoice @ other


def test_base64_holds_the_same_numbers(client: Client) -> None:
    plain = embedded(client, "hello", dimensions=256)[0]
    answer = client.openai({"model": SMALL, "input": "hello", "dimensions": 256, "encoding_format": "base64"})
    decoded = np.frombuffer(base64.b64decode(answer.json()["data"][0]["embedding"]), "<f4")
    assert decoded.shape == (256,)
    assert decoded == pytest.approx(plain)


@pytest.mark.parametrize(
    ("model", "dimensions"), [(SMALL, 1536), ("text-embedding-3-large", 3072), ("text-embedding-ada-002", 1536)]
)
def test_each_model_has_its_dimensions(client: Client, model: str, dimensions: int) -> None:
    assert embedded(client, "x", model=model).shape == (1, dimensions)


@pytest.mark.parametrize("tokens", [[1, 2, 3], [[1, 2, 3]]])
def test_tokens_can_be_embedded(client: Client, tokens: Any) -> None:
    assert client.openai({"model": SMALL, "input": tokens}).json()["usage"]["total_tokens"] == 3


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"model": "text-embedding-4", "input": "x"}, 404, "model_not_found"),
        ({"input": "x"}, 400, "model"),
        ({"model": SMALL}, 400, "input"),
        ({"model": SMALL, "input": ""}, 400, "'$.input' is invalid"),
        ({"model": SMALL, "input": []}, 400, "'$.input' is invalid"),
        ({"model": SMALL, "input": ["x", ""]}, 400, "'$.input' is invalid"),
        ({"model": SMALL, "input": ["x", 1]}, 400, "'$.input' is invalid"),
        ({"model": SMALL, "input": ["x"] * 2049}, 400, "array too long"),
        ({"model": SMALL, "input": "x" * 4 * 8193}, 400, "maximum context length is 8192 tokens"),
        ({"model": SMALL, "input": ["x" * 4 * 8000] * 38}, 400, "max 300000 tokens per request"),
        ({"model": SMALL, "input": "x", "dimensions": 1537}, 400, "dimensions"),
        ({"model": "text-embedding-ada-002", "input": "x", "dimensions": 10}, 400, "does not support"),
        ({"model": SMALL, "input": "x", "encoding_format": "hex"}, 400, "encoding_format"),
        ({"model": SMALL, "input": "x", "truncate": True}, 400, "Unrecognized request argument supplied: truncate"),
    ],
)
def test_openai_refuses_what_breaks_its_rules(client: Client, body: Any, status: int, words: str) -> None:
    answer = client.openai(body)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert words in answer.text


def test_openai_takes_as_much_as_it_says(client: Client) -> None:
    assert client.openai({"model": SMALL, "input": ["x"] * 2048, "dimensions": 8}).status_code == 200
    assert client.openai({"model": SMALL, "input": "x" * 4 * 8192}).status_code == 200


def test_openai_refuses_a_wrong_key(client: Client) -> None:
    answer = client.openai({"model": SMALL, "input": "x"}, key="wrong")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    ("model", "dimensions", "most"),
    [
        ("@cf/baai/bge-m3", 1024, 100),
        ("@cf/qwen/qwen3-embedding-0.6b", 1024, 32),
        ("@cf/google/embeddinggemma-300m", 768, 100),
        ("@cf/baai/bge-small-en-v1.5", 384, 100),
        ("@cf/baai/bge-base-en-v1.5", 768, 100),
        ("@cf/baai/bge-large-en-v1.5", 1024, 100),
    ],
)
def test_workers_ai_embeds_up_to_so_many_texts(client: Client, model: str, dimensions: int, most: int) -> None:
    assert run(client, model, text="one").shape == (1, dimensions)
    assert run(client, model, text=["one"] * most).shape == (most, dimensions)
    assert code(client.post(f"/ai/run/{model}", {"text": ["one"] * (most + 1)})) == (400, 5006)


@pytest.mark.parametrize("text", [None, [], [1], {"a": "b"}])
def test_workers_ai_refuses_what_is_no_text(client: Client, text: Any) -> None:
    assert code(client.post("/ai/run/@cf/baai/bge-m3", {"text": text})) == (400, 5006)


def test_bge_m3_refuses_a_long_text_unless_told_to_cut_it(client: Client) -> None:
    long = "x" * 4 * 60_001
    assert code(client.post("/ai/run/@cf/baai/bge-m3", {"text": long})) == (413, 3006)
    assert run(client, "@cf/baai/bge-m3", text=long, truncate_inputs=True).shape == (1, 1024)


def test_qwen_embeds_a_query_a_little_otherwise(client: Client) -> None:
    model = "@cf/qwen/qwen3-embedding-0.6b"
    (document,) = run(client, model, documents=["the cat sat"])
    (query,) = run(client, model, queries=["the cat sat"])
    (other,) = run(client, model, queries="the cat sat", instruction="find cats")
    (text,) = run(client, model, text="the cat sat")
    assert (text == document).all()
    assert 0.9 < query @ document < 0.9999
    assert (query != other).any()


def test_an_unknown_model_is_refused(client: Client) -> None:
    assert code(client.post("/ai/run/@cf/nobody/none", {"text": "x"})) == (400, 5007)


def test_workers_ai_speaks_openais_language_too(client: Client) -> None:
    answer = client.post("/ai/v1/embeddings", {"model": "@cf/baai/bge-m3", "input": ["one"]})
    assert set(answer.json()) == {"object", "data", "model", "usage"}
    assert answer.json()["data"][0]["embedding"] == run(client, "@cf/baai/bge-m3", text="one")[0].tolist()


@pytest.mark.parametrize("service", ["openai", "workers"])
def test_a_chat_says_what_the_user_said(client: Client, service: str) -> None:
    body = {
        "model": "@cf/meta/llama-4-scout-17b-16e-instruct",
        "messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello there"}],
    }
    if service == "openai":
        answer = client.openai(body, "chat/completions")
    else:
        answer = client.post("/ai/v1/chat/completions", body)
    assert answer.json()["choices"][0]["message"]["content"] == "hello there"
    assert answer.json()["usage"]["total_tokens"] == 8


def test_a_chat_fills_in_a_schema(client: Client) -> None:
    schema = {
        "type": "object",
        "required": ["facts", "kind", "sure", "count", "nested", "maybe"],
        "properties": {
            "facts": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kind": {"enum": ["fact", "event"]},
            "sure": {"type": "boolean"},
            "count": {"type": "integer", "minimum": 2},
            "nested": {"type": "object", "required": ["a"], "properties": {"a": {"type": ["string", "null"]}}},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "left_out": {"type": "string"},
        },
    }
    body = {
        "model": "gpt-5-mini",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
    }
    content = client.openai(body, "chat/completions").json()["choices"][0]["message"]["content"]
    assert orjson.loads(content) == {
        "facts": [""],
        "kind": "fact",
        "sure": False,
        "count": 2,
        "nested": {"a": ""},
        "maybe": None,
    }


def test_workers_ai_runs_a_chat_by_name(client: Client) -> None:
    answer = client.post("/ai/run/@cf/openai/gpt-oss-20b", {"prompt": "hello"})
    assert answer.json()["result"]["response"] == "hello"
    assert code(client.post("/ai/run/@cf/openai/gpt-oss-20b", {})) == (400, 5006)
