"""Settings of the embedder."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from app.settings.forms import BaseUrl, Key

_PREFIX_CHARACTERS = 200
NO_PREFIX = "off"
"""The value that stands for no prefix: a variable that is empty counts as one that is not set."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class EmbeddingSettings(BaseModel):
    """Settings of the embedder."""

    embedder: Literal["auto", "local", "local-multilingual", "hashing", "openai", "workers-ai"] = Field(
        "auto",
        description=(
            "`local`: a sentence model in the process, which knows English; `local-multilingual`: one that knows a "
            "hundred languages (`make run LANGUAGES=multilingual`); `openai`; `workers-ai`; `hashing`: n-grams without "
            "meaning. "
            "`auto`: `local` without Cloudflare, with it `openai` where OPENAI_API_KEY is set, else `workers-ai`."
        ),
    )
    embedding_model: str | None = Field(
        None,
        description="Model of `openai` (default text-embedding-3-small) or `workers-ai` (default @cf/baai/bge-m3).",
    )
    embedding_dimensions: Annotated[int, Field(ge=32, le=1536)] | None = Field(
        None, description="Dimensions of an `openai` model, where not its own (at most 1536)."
    )
    embedding_query_prefix: Annotated[str, Field(max_length=_PREFIX_CHARACTERS)] | None = Field(
        None,
        description=(
            "Text before each query that is embedded, in quotes, at most 200 characters; `off` for no text. Not set: "
            "what the model is known to need (docs/embedders.md)."
        ),
    )
    embedding_document_prefix: Annotated[str, Field(max_length=_PREFIX_CHARACTERS)] | None = Field(
        None,
        description=(
            "The same before each memory. Vectors with another prefix are another embedding config; "
            "`memory-gateway reembed` moves the data to it."
        ),
    )
    openai_api_key: Key = Field(None, description="Key for `openai`.", repr=False)
    openai_base_url: BaseUrl = Field(
        "https://api.openai.com/v1", description="Where the OpenAI API, or a proxy, answers."
    )
    openai_calls_per_minute: Annotated[int, Field(ge=0)] = Field(
        3000,
        description=(
            "Calls this replica may make in a minute of the embeddings API of `openai`, which takes 3,000 of a new "
            "account; its workers divide them. 0 counts none."
        ),
    )
    local_model_dir: Path | None = Field(
        None, description="Directory of a BERT-family sentence model that `local` uses instead of all-MiniLM-L6-v2."
    )

    @field_validator("embedding_query_prefix", "embedding_document_prefix")
    @classmethod
    def _check_prefix(cls, value: str | None) -> str | None:
        """Take ``off`` for no prefix: a variable that is empty counts as one that is not set."""
        if value is not None and _NO_TEXT.search(value):
            raise ValueError("must be text without NUL")
        return "" if value == NO_PREFIX else value
