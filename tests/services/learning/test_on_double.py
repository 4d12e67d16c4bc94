"""The stages of learning, asked of the double's model over a socket: it understands them as a model is to."""

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

import pytest

from app.adapters.http.language_model import HttpLanguageModel
from app.domain.messages import Role
from app.observability.metrics import Metrics
from app.ports.language_model import STAGES
from app.services.learning.classifying import classification, classified
from app.services.learning.extracting import extraction, proposals
from app.services.learning.transcript import TranscriptLine
from app.services.learning.verifying import verdicts, verification
from app.services.models.request import ModelRequest
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running

T = TypeVar("T")
MAY_4 = 1_777_852_800_000
MARK = "m4rk5"


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running(DoubleOptions()) as handle:
        yield handle


@pytest.fixture
async def model(double: Handle) -> AsyncIterator[HttpLanguageModel]:
    key = double.double.options.openai_api_key
    model = HttpLanguageModel(
        dict.fromkeys(STAGES, "any"), base_url=double.openai_url, api_key=key, metrics=Metrics(), seconds=10
    )
    yield model
    await model.close()


async def ask(model: HttpLanguageModel, request: ModelRequest[T]) -> T:
    return await model.complete(
        request.messages, request.schema, stage=request.stage, max_tokens=request.max_tokens, affinity="a"
    )


def line(number: int, role: Role, content: str) -> TranscriptLine:
    return TranscriptLine(number, f"message-{number}", role, content, MAY_4)


LINES = [
    line(1, "user", "I moved to Oslo yesterday."),
    line(2, "assistant", "Oslo has 700,000 inhabitants."),
    line(3, "user", "Is that many?"),
    line(4, "user", "The deadline of Blue Heron is 2026-06-01."),
]


@pytest.mark.parametrize("refused", [(), ("json_schema",), ("json_schema", "json_object")])
async def test_what_users_state_is_extracted_verified_and_classified_with_any_form_of_answer(
    double: Handle, model: HttpLanguageModel, refused: tuple[str, ...]
) -> None:
    double.double.models.refuse(*refused)  # type: ignore[arg-type]
    extracted = proposals(await ask(model, extraction("extract", LINES, MARK)), LINES)
    assert [(each.content, each.message_ids) for each in extracted] == [
        ("The user moved to Oslo yesterday.", ["message-1"]),
        ("The user: The deadline of Blue Heron is 2026-06-01.", ["message-4"]),
    ]
    detailed = proposals(await ask(model, extraction("detail", LINES, MARK)), LINES)
    assert [each.message_ids for each in detailed] == [["message-4"]]
    verified = verdicts(await ask(model, verification(extracted, LINES, MARK)), extracted)
    assert [each.kind for each in verified] == ["pass", "pass"]
    sorted_ = classified(await ask(model, classification(extracted, ["user_home_city"], MARK)), extracted)
    assert [(each.type, each.topic, bool(each.search_queries)) for each in sorted_] == [("event", None, True)] * 2
