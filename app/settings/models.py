"""Settings of the reader, of the reranker and of the language models."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator
from pydantic_settings import NoDecode

from app.domain.stages import Stage
from app.settings.forms import BaseUrl, Key

_MODEL = re.compile(r"[!-~]{1,200}")


class ModelSettings(BaseModel):
    """Settings of the reader, of the reranker and of the language models."""

    recall_part_seconds: Annotated[float, Field(gt=0, le=10)] = Field(
        2.0,
        description=(
            "How long a recall waits for the query's vector, and for the index, over the network before it answers "
            "without, at most 10 (docs/reliability.md)."
        ),
    )
    recall_strict: bool = Field(
        default=False,
        description=(
            "Whether a recall whose embedder, index or words are away is the error of that part, where its request has "
            "no `strict`; else it is answered without (docs/reliability.md)."
        ),
    )
    reader: Literal["auto", "local", "none"] = Field(
        "auto",
        description=(
            "What reads which memories others replace, and what answers (docs/reader.md): `local`: a small model in "
            "the process; `none`: nothing; `auto`: `local` where its model and the packaged embedding model are "
            "installed."
        ),
    )
    reranker: Literal["none", "http", "workers-ai"] = Field(
        "none",
        description=(
            "What rates the best candidates of each recall anew (docs/retrieval.md): `none`; `http`: a rerank endpoint "
            "as Cohere, Jina, vLLM, llama.cpp and LiteLLM have it; `workers-ai`. Both are sent queries and memories."
        ),
    )
    reranker_model: str | None = Field(
        None, description="Model of `http`, where its service needs one; `workers-ai` has @cf/baai/bge-reranker-base."
    )
    reranker_base_url: BaseUrl | None = Field(
        None, description="Where the service of `http` answers; `/rerank` is put behind it."
    )
    reranker_api_key: Key = Field(None, description="Key for `http`, where its service needs one.", repr=False)
    reranker_seconds: Annotated[float, Field(gt=0, le=10)] = Field(
        2.0, description="How long a recall waits for the reranker before it answers without, at most 10."
    )
    language_model: Literal["none", "openai", "workers-ai", "http"] = Field(
        "none",
        description=(
            "What learns of conversations and writes answers (docs/constrained-api.md): `none`; `openai`; "
            "`workers-ai`; `http`: a server with OpenAI's chat completions, as Ollama, llama.cpp and vLLM. It is sent "
            "messages, memories and queries."
        ),
    )
    language_model_name: str | None = Field(
        None,
        description=(
            "Model of all stages. Where not set: on `workers-ai` @cf/nvidia/nemotron-3-120b-a12b for `synthesise` and "
            "@cf/meta/llama-4-scout-17b-16e-instruct for the others, with `http` the server's own, if it takes "
            "calls without a name; `openai` needs one."
        ),
    )
    language_model_names: Annotated[dict[Stage, str], NoDecode] = Field(
        default_factory=dict,
        description=(
            "Models of some stages, `stage=model` separated by commas; the stages are `extract`, `detail`, `verify`, "
            "`classify`, `analyse` and `synthesise`."
        ),
    )
    language_model_base_url: BaseUrl | None = Field(
        None,
        description=(
            "Where the server of `http` answers; `/chat/completions` is put behind it. For `openai` where it is not "
            "OPENAI_BASE_URL, such as Cloudflare's AI Gateway."
        ),
    )
    language_model_api_key: Key = Field(
        None,
        description="Key for `http`, where its server needs one, and for `openai`, where it is not OPENAI_API_KEY.",
        repr=False,
    )
    language_model_seconds: Annotated[float, Field(gt=0, le=600)] = Field(
        60.0, description="How long a call of a language model that an ingestion makes may take, at most 600."
    )
    recall_model_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        8.0, description="How long a recall waits for language models in all before it answers without, at most 60."
    )
    recall_analysis_seconds: Annotated[float, Field(ge=0, le=10)] = Field(
        2.0,
        description=(
            "How long a recall of a profile, or of an agent's tool, waits for what a language model makes of its query "
            "(docs/retrieval.md), at most 10; 0: no query is analysed."
        ),
    )

    @field_validator("language_model_names", mode="before")
    @classmethod
    def _read_models(cls, value: object) -> object:
        """Read ``stage=model,stage=model``."""
        if not isinstance(value, str):
            return value
        pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
        models = {stage.strip(): model.strip() for stage, _, model in pairs}
        if len(models) != len(pairs):
            raise ValueError("name each stage once")
        return models

    @field_validator("language_model_name", "language_model_names")
    @classmethod
    def _check_models(cls, value: str | dict[str, str] | None) -> str | dict[str, str] | None:
        for name in [value] if isinstance(value, str) else (value or {}).values():
            if not _MODEL.fullmatch(name):
                raise ValueError("the name of a model must be 1 to 200 printable ASCII characters without spaces")
        return value
