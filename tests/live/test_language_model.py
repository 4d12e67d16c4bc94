"""What is assumed of servers of language models, of a real one: OpenAI's form by a base URL, or Workers AI.

    LIVE=1 LIVE_LANGUAGE_MODEL_BASE_URL=http://127.0.0.1:11434/v1 LIVE_LANGUAGE_MODEL_NAME=qwen3:8b \
      python -m pytest tests/live/test_language_model.py

LIVE_LANGUAGE_MODEL_API_KEY is its key. Without a base URL the account of LIVE_CLOUDFLARE_ACCOUNT_ID is asked.
"""

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import pytest
from pydantic import Field

from app.adapters.cloudflare.call_budget import CallBudget
from app.adapters.cloudflare.client import BASE_URL, CloudflareClient
from app.adapters.cloudflare.workers_ai_language_model import STRUCTURED_MODEL, SYNTHESIS_MODEL, WorkersAILanguageModel
from app.adapters.http.language_model import HttpLanguageModel
from app.domain.errors import Unavailable
from app.observability.metrics import Metrics
from app.ports.language_model import STAGES, ModelMessage, Spent, Stage
from app.services.learning.extracting import extraction, proposals
from app.services.learning.transcript import TranscriptLine
from app.services.models.schema import schema

pytestmark = pytest.mark.live

Model: TypeAlias = HttpLanguageModel | WorkersAILanguageModel
_MAX_CALLS = 50
_SECONDS = 300.0
MAY_4 = 1_777_852_800_000


@dataclass(frozen=True)
class City:
    """An answer with each kind of field that is asked for anywhere."""

    name: Annotated[str, Field(max_length=100, description="In English.")]
    continent: Literal["Africa", "America", "Asia", "Europe"]
    population: int | None
    known_for: Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=3)]


FORM = schema("city", City)
ASKED = [ModelMessage("system", "Describe the city."), ModelMessage("user", "The capital of France.")]


def built(names: Mapping[Stage, str], client: CloudflareClient | None) -> Model:
    if client is not None:
        return WorkersAILanguageModel(client, names, Metrics(), seconds=_SECONDS)
    return HttpLanguageModel(
        names,
        base_url=os.environ["LIVE_LANGUAGE_MODEL_BASE_URL"],
        api_key=os.environ.get("LIVE_LANGUAGE_MODEL_API_KEY"),
        metrics=Metrics(),
        seconds=_SECONDS,
    )


@pytest.fixture
async def client() -> AsyncIterator[CloudflareClient | None]:
    if "LIVE_LANGUAGE_MODEL_BASE_URL" in os.environ:
        yield None
        return
    client = CloudflareClient(
        account_id=os.environ["LIVE_CLOUDFLARE_ACCOUNT_ID"],
        api_token=os.environ["LIVE_CLOUDFLARE_API_TOKEN"],
        base_url=os.environ.get("LIVE_CLOUDFLARE_API_BASE_URL", BASE_URL),
        call_budget=CallBudget(_MAX_CALLS),
        metrics=Metrics(),
    )
    yield client
    await client.close()


@pytest.fixture
async def model(client: CloudflareClient | None) -> AsyncIterator[Model]:
    usual = {stage: SYNTHESIS_MODEL if stage == "synthesise" else STRUCTURED_MODEL for stage in STAGES}
    name = os.environ.get("LIVE_LANGUAGE_MODEL_NAME")
    model = built(usual if name is None else dict.fromkeys(STAGES, name), client)
    yield model
    await model.close()


@pytest.mark.parametrize("stage", ["extract", "synthesise"])
async def test_an_answer_has_the_form_that_is_asked_for_and_its_tokens_are_told(model: Model, stage: Stage) -> None:
    spent: list[Spent] = []
    city = await model.complete(ASKED, FORM, stage=stage, max_tokens=500, affinity="live", spent=spent.append)
    assert (city.name, city.continent) == ("Paris", "Europe")
    assert all(each.tokens > 0 for each in spent)


@pytest.mark.skipif("LIVE_LANGUAGE_MODEL_BASE_URL" in os.environ, reason="a server of one model takes any name")
async def test_a_model_that_workers_ai_does_not_have_is_named(client: CloudflareClient | None) -> None:
    model = built(dict.fromkeys(STAGES, "@cf/nobody/none"), client)
    try:
        with pytest.raises(Unavailable, match="no model workers-ai/@cf/nobody/none"):
            await model.ping()
    finally:
        await model.close()


async def test_what_a_user_states_is_extracted_with_its_line(model: Model) -> None:
    lines = [
        TranscriptLine(1, "one", "user", "I moved from Rome to Oslo last month.", MAY_4),
        TranscriptLine(2, "two", "assistant", "How do you like it?", MAY_4),
        TranscriptLine(3, "three", "user", "Very much. My cat is called Miso.", MAY_4),
    ]
    request = extraction("extract", lines, "k3u8fw")
    answer = await model.complete(
        request.messages, request.schema, stage=request.stage, max_tokens=request.max_tokens, affinity="live"
    )
    found = proposals(answer, lines)
    assert any("Oslo" in each.content and "one" in each.message_ids for each in found)
    assert any("Miso" in each.content and "three" in each.message_ids for each in found)
