"""Workers AI: models by name under ``ai/run``, and the endpoints that OpenAI's clients can use.

https://developers.cloudflare.com/workers-ai/models/ and
https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memory_gateway_double.clock import Clock
from memory_gateway_double.models.chat import echo, smallest
from memory_gateway_double.models.embedding import Values, embed, instructed, tokens
from memory_gateway_double.models.embeddings_endpoint import Model, embeddings, openai_error, read_body
from memory_gateway_double.models.language import LanguageModels
from memory_gateway_double.models.rerank import Rerankings
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import ok, read_object, refused
from memory_gateway_double.wire import Refusal, Reply, Request

NO_SUCH_MODEL = 5007
BAD_INPUT = 5006
TOO_LARGE = 3006

_DEFAULT_TOKENS = 256
"""Of an answer, where a request does not say how long it may be."""
_INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query"


@dataclass(frozen=True, slots=True)
class _Embedder:
    """What one embedding model takes; ``instructs`` says that it embeds a query otherwise than a document."""

    dimensions: int
    context: int
    inputs: int = 100
    truncates: bool = True
    instructs: bool = False
    pooling: str | None = None


_EMBEDDERS: Mapping[str, _Embedder] = {
    "@cf/baai/bge-m3": _Embedder(1024, 60_000, truncates=False, pooling="cls"),
    "@cf/qwen/qwen3-embedding-0.6b": _Embedder(1024, 8_192, inputs=32, instructs=True),
    "@cf/google/embeddinggemma-300m": _Embedder(768, 2_048),
    "@cf/baai/bge-small-en-v1.5": _Embedder(384, 512, pooling="mean"),
    "@cf/baai/bge-base-en-v1.5": _Embedder(768, 512, pooling="mean"),
    "@cf/baai/bge-large-en-v1.5": _Embedder(1024, 512, pooling="mean"),
}
_RERANKER = "@cf/baai/bge-reranker-base"
_COMPATIBLE = {name: Model(model.dimensions) for name, model in _EMBEDDERS.items()}
_CHATTERS = {
    "@cf/meta/llama-4-scout-17b-16e-instruct",
    "@cf/nvidia/nemotron-3-120b-a12b",
    "@cf/google/gemma-4-26b-a4b-it",
    "@cf/zai-org/glm-4.7-flash",
    "@cf/openai/gpt-oss-20b",
    "@cf/openai/gpt-oss-120b",
}


class WorkersAI:
    """The account's models."""

    def __init__(self, clock: Clock, rerankings: Rerankings, models: LanguageModels) -> None:
        """Date chat answers by this clock, rate texts by these scores, and chat with these models."""
        self._clock = clock
        self._models = models
        self._rerankings = rerankings

    def routes(self, prefix: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        yield Route("ai.rerank", "POST", f"{prefix}/ai/run/{_RERANKER}", self._rerank)
        yield Route("ai.run", "POST", f"{prefix}/ai/run/{{model*}}", self._run)
        yield Route("ai.embeddings", "POST", f"{prefix}/ai/v1/embeddings", self._embeddings)
        yield Route("ai.chat", "POST", f"{prefix}/ai/v1/chat/completions", self._chat)

    async def _run(self, request: Request) -> Reply:
        name = request.parameters["model"]
        body = read_object(request, BAD_INPUT, "AiError: Bad input: Error")
        if name in _CHATTERS:
            return ok(_said(body))
        model = _EMBEDDERS.get(name)
        if model is None:
            raise refused(400, NO_SUCH_MODEL, f"No such model {name} or task")
        vectors = _vectors(name, model, body, model.dimensions - request.shorten_vectors)
        shape = [len(vectors), len(vectors[0])]
        result: dict[str, object] = {"shape": shape, "data": vectors}
        if model.pooling is not None:
            result["pooling"] = model.pooling
        return ok(result)

    async def _rerank(self, request: Request) -> Reply:
        body = read_object(request, BAD_INPUT, "AiError: Bad input: Error")
        query, texts = body.get("query"), _contexts(body)
        if not isinstance(query, str) or not query:
            raise _bad_input("required properties at '/' are 'query'")
        most = body.get("top_k", len(texts))
        if type(most) is not int or most < 1:
            raise _bad_input("'/top_k' must be >= 1")
        rated = self._rerankings.rated(request, query, texts, most)
        prompt = sum(tokens(query) + tokens(text) for text in texts)
        usage = {"prompt_tokens": prompt, "completion_tokens": 0, "total_tokens": prompt}
        return ok({"response": [{"id": index, "score": score} for index, score in rated], "usage": usage})

    async def _embeddings(self, request: Request) -> Reply:
        return embeddings(request, _COMPATIBLE)

    async def _chat(self, request: Request) -> Reply:
        body = read_body(request)
        if body["model"] not in _CHATTERS:
            raise openai_error(400, f"No such model {body['model']} or task", code=str(NO_SUCH_MODEL))
        if not isinstance(body.get("messages"), list) or not body["messages"]:
            raise openai_error(400, "AiError: Bad input: required properties at '/' are 'messages'", code="5006")
        return await self._models.answer(body, int(self._clock.now()), default_tokens=_DEFAULT_TOKENS)


def _vectors(name: str, model: _Embedder, body: dict[str, Any], dimensions: int) -> list[Values]:
    """Embed what is asked for: queries under an instruction where the model knows one, all else as documents."""
    if model.instructs and "queries" in body:
        instruction = str(body.get("instruction") or _INSTRUCTION)
        texts = _texts(body, model, "queries")
        return [instructed(name, instruction, text, dimensions) for text in texts]
    field = "documents" if model.instructs and "documents" in body else "text"
    return [embed(name, text, dimensions) for text in _texts(body, model, field)]


def _texts(body: dict[str, Any], model: _Embedder, field: str) -> list[str]:
    given = body.get(field)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise _bad_input(f"required properties at '/' are '{field}'")
    if len(texts) > model.inputs:
        raise _bad_input(f"Length of '/{field}' must be <= {model.inputs}")
    truncates = bool(body.get("truncate_inputs", model.truncates))
    if not truncates and any(tokens(text) > model.context for text in texts):
        raise refused(413, TOO_LARGE, f"AiError: input longer than the model's context of {model.context} tokens")
    return texts


def _contexts(body: dict[str, Any]) -> list[str]:
    """Return the texts that are to be rated."""
    contexts = body.get("contexts")
    if not isinstance(contexts, list) or not contexts:
        raise _bad_input("required properties at '/' are 'contexts'")
    given = [context.get("text") if isinstance(context, dict) else None for context in contexts]
    texts = [text for text in given if isinstance(text, str) and text]
    if len(texts) != len(given):
        raise _bad_input("Length of '/contexts/0/text' must be >= 1")
    return texts


def _said(body: dict[str, Any]) -> dict[str, object]:
    """Answer a text generation in the form of ``ai/run``."""
    messages = body.get("messages") or [{"role": "user", "content": body.get("prompt")}]
    if not isinstance(messages, list) or not echo(messages):
        raise _bad_input("oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt' or 'messages'")
    wanted = body.get("response_format") or {}
    schema = wanted.get("json_schema") if wanted.get("type") == "json_schema" else None
    response = smallest(schema.get("schema") or schema) if isinstance(schema, dict) else echo(messages)
    prompt = sum(tokens(str(message.get("content") or "")) for message in messages)
    answered = tokens(str(response))
    usage = {"prompt_tokens": prompt, "completion_tokens": answered, "total_tokens": prompt + answered}
    return {"response": response, "usage": usage}


def _bad_input(reason: str) -> Refusal:
    return refused(400, BAD_INPUT, f"AiError: Bad input: Error: {reason}")
