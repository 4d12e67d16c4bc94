"""What every language model must do, run on each adapter, over a socket to the double."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol, TypeAlias
from unittest.mock import MagicMock

import orjson
import pytest
from pydantic import Field

from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.workers_ai_language_model import WorkersAILanguageModel
from app.adapters.completions import MAX_ANSWER_BYTES
from app.adapters.http.language_model import HttpLanguageModel
from app.adapters.model_requests import THINKING_TOKENS
from app.domain.errors import (
    CredentialsRefused,
    ModelAnswerRejected,
    QuotaExhausted,
    RateLimited,
    Unavailable,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.observability.metrics import Metrics
from app.ports.language_model import STAGES, LanguageModel, ModelMessage, Schema, Spent, Stage
from app.services.models.schema import schema
from memory_gateway_double.faults import Fault
from memory_gateway_double.models.language import LanguageModels, Step
from memory_gateway_double.recorder import RecordedRequest
from memory_gateway_double.server import Handle
from tests.contracts.conftest import cloudflare_client
from tests.observability.samples import samples

LARGE, SMALL = "@cf/openai/gpt-oss-120b", "@cf/openai/gpt-oss-20b"
MODELS: dict[Stage, str] = {stage: LARGE if stage == "synthesise" else SMALL for stage in STAGES}
SECRET = "the secret of the caller"


@dataclass(frozen=True)
class Note:
    text: Annotated[str, Field(max_length=40, description="In one sentence.")]
    kind: Literal["fact", "event"]


@dataclass(frozen=True)
class Notes:
    notes: Annotated[list[Note], Field(max_length=3)]


FORM = schema("notes", Notes)
MESSAGES = [ModelMessage("system", "Take notes."), ModelMessage("user", SECRET)]
GOOD: Any = {"notes": [{"text": "Ann has a cat.", "kind": "fact"}]}
READ = Notes([Note("Ann has a cat.", "fact")])
WHOLE = orjson.dumps(GOOD).decode()


class OwnedLanguageModel(LanguageModel, Protocol):
    async def close(self) -> None: ...


@dataclass
class Subject:
    """A language model, the double behind it, and what the double calls its calls."""

    model: OwnedLanguageModel
    double: Handle
    operation: str
    metrics: Metrics
    spent: list[Spent] = field(default_factory=list)

    async def ask(
        self,
        stage: Stage = "extract",
        *,
        form: Schema[Notes] = FORM,
        max_tokens: int = 300,
        seconds: float | None = None,
        affinity: str = "profile",
    ) -> Notes:
        return await self.model.complete(
            MESSAGES,
            form,
            stage=stage,
            max_tokens=max_tokens,
            affinity=affinity,
            seconds=seconds,
            spent=self.spent.append,
        )

    @property
    def models(self) -> LanguageModels:
        return self.double.double.models

    def script(self, *steps: Step) -> None:
        self.models.script("notes", *steps)

    def fail(self, **fault: Any) -> None:
        self.double.double.faults.add(Fault(self.operation, **fault))

    @property
    def requests(self) -> list[RecordedRequest]:
        return [request for request in self.double.double.requests() if request.operation == self.operation]

    @property
    def bodies(self) -> list[Any]:
        return [orjson.loads(request.body) for request in self.requests]


class _Owned(WorkersAILanguageModel):
    """Closes the client that was made for it alone."""

    def __init__(self, client: CloudflareClient, metrics: Metrics) -> None:
        super().__init__(client, MODELS, metrics, seconds=10)
        self._own_client = client

    async def close(self) -> None:
        await self._own_client.close()


def over_http(double: Handle) -> Subject:
    key, metrics = double.double.options.openai_api_key, Metrics()
    model = HttpLanguageModel(MODELS, base_url=double.openai_url, api_key=key, metrics=metrics, seconds=10)
    return Subject(model, double, "openai.chat", metrics)


def on_workers_ai(double: Handle) -> Subject:
    metrics = Metrics()
    return Subject(_Owned(cloudflare_client(double), metrics), double, "ai.chat", metrics)


@pytest.fixture(params=[over_http, on_workers_ai])
async def subject(request: pytest.FixtureRequest, double: Handle) -> AsyncIterator[Subject]:
    make: Callable[[Handle], Subject] = request.param
    double.double.reset_calls()
    subject = make(double)
    yield subject
    await subject.model.close()


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    yield
    double.double.faults.clear()
    double.double.models.clear()


async def test_an_answer_is_read_by_its_schema(subject: Subject) -> None:
    subject.script(Step(GOOD))
    assert await subject.ask() == READ
    (body,) = subject.bodies
    assert body["messages"] == [{"role": "system", "content": "Take notes."}, {"role": "user", "content": SECRET}]
    assert body["response_format"]["type"] == "json_schema"


async def test_each_call_says_how_long_its_answer_may_be_and_whose_messages_it_has(subject: Subject) -> None:
    subject.script(Step("nonsense"), Step(GOOD))
    await subject.ask(max_tokens=77, affinity="ann")
    assert [body["max_tokens"] for body in subject.bodies] == [77, 77]
    assert [request.headers["x-session-affinity"] for request in subject.requests] == ["ann", "ann"]


async def test_each_stage_has_its_own_model(subject: Subject) -> None:
    subject.script(Step(GOOD, times=None))
    for stage in STAGES:
        await subject.ask(stage)
        assert subject.model.name(stage).endswith(f"/{MODELS[stage]}")
    assert [body["model"] for body in subject.bodies] == [MODELS[stage] for stage in STAGES]


async def test_what_each_answered_call_has_cost_is_told_and_counted(subject: Subject) -> None:
    subject.script(Step("nonsense"), Step(GOOD, usage=False), Step(GOOD))
    await subject.ask("verify")
    await subject.ask("verify")
    name = subject.model.name("verify")
    assert [(spent.stage, spent.model) for spent in subject.spent] == [("verify", name)] * 3
    first, second, third = (spent.tokens for spent in subject.spent)
    assert first > 0
    assert second == 0
    assert third > 0
    assert samples(subject.metrics, "memory_gateway_model_calls_total") == {(name, "ok", "verify"): 3}
    assert samples(subject.metrics, "memory_gateway_model_tokens_total") == {(name, "verify"): first + third}


async def test_a_call_that_was_not_answered_costs_nothing(subject: Subject) -> None:
    subject.fail(status=503)
    with pytest.raises(Unavailable):
        await subject.ask("verify")
    assert subject.spent == []
    name = subject.model.name("verify")
    counted = samples(subject.metrics, "memory_gateway_model_calls_total")
    assert counted == {(name, "upstream_overloaded", "verify"): 1}


@pytest.mark.parametrize("leaving", ["in time", "cancelled"])
async def test_a_call_that_is_no_longer_waited_for_is_paid_for_at_the_most_it_may_cost(
    subject: Subject, leaving: str
) -> None:
    subject.fail(kind="hang")
    call = asyncio.create_task(subject.ask("analyse", max_tokens=300, seconds=0.3 if leaving == "in time" else 30))
    while not subject.requests:
        await asyncio.sleep(0.001)
    if leaving == "cancelled":
        await asyncio.sleep(0.05)  # the double has read the request before the loop knows that it was written
        call.cancel()
    with pytest.raises((UpstreamTimeout, asyncio.CancelledError)):
        await call
    (spent,) = subject.spent
    assert (spent.stage, spent.model) == ("analyse", subject.model.name("analyse"))
    assert spent.tokens > 300


async def test_a_call_that_had_no_time_to_be_made_costs_nothing(subject: Subject) -> None:
    with pytest.raises(UpstreamTimeout):
        await subject.ask("analyse", seconds=1e-9)
    assert subject.spent == []
    assert subject.requests == []


FORMS: dict[str, Step] = {
    "parts": Step(GOOD, form="parts"),
    "object": Step(GOOD, form="object"),
    "generated_text": Step(GOOD, form="generated_text"),
    "workers-ai": Step(GOOD, form="response"),
    "fence": Step(f"```json\n{WHOLE}\n```"),
    "fence without a language": Step(f"\n```\n{WHOLE}```\n"),
    "thoughts": Step(f"<think>Is {{this}} it?</think>\n{WHOLE}"),
    "thoughts of which the beginning was in the prompt": Step(f"Is this it?\n</think>\n\n{WHOLE}"),
    "thoughts and a fence": Step(f"<think>\n</think>```json\n{WHOLE}\n```"),
    "a thought beside it": Step(GOOD, reasoning="Is this it?"),
    "white space": Step(f"\n\t {WHOLE} \n"),
    "over several lines": Step(orjson.dumps(GOOD, option=orjson.OPT_INDENT_2).decode()),
}


@pytest.mark.parametrize("step", FORMS.values(), ids=FORMS)
async def test_an_answer_is_read_in_whatever_form_it_comes(subject: Subject, step: Step) -> None:
    subject.script(step)
    assert await subject.ask() == READ
    assert len(subject.bodies) == 1


async def test_a_tag_or_a_fence_within_a_text_is_a_part_of_it(subject: Subject) -> None:
    text = "He typed </think> and ```x``` here."
    subject.script(Step({"notes": [{"text": text, "kind": "fact"}]}))
    assert await subject.ask() == Notes([Note(text, "fact")])


WRONG: dict[str, Any] = {
    "no JSON": "I would rather not.",
    "nothing": "",
    "cut": WHOLE[:-5],
    "two": WHOLE + WHOLE,
    "another enum": WHOLE.replace('"fact"', '"opinion"'),
    "a key twice": WHOLE.replace('"kind"', '"text":"Bob","kind"'),
    "a key too many": WHOLE.replace('"kind"', '"mood":"good","kind"'),
    "a key of 10 kB": WHOLE.replace('"kind"', f'"{"k" * 10_000}":1,"kind"'),
    "a key missing": WHOLE.replace(',"kind":"fact"', ""),
    "a number": WHOLE.replace('"Ann has a cat."', "7"),
    "a text too long": WHOLE.replace("Ann", "Ann" * 20),
    "too many": {"notes": GOOD["notes"] * 10_000},
    "NaN": WHOLE.replace('"Ann has a cat."', "NaN"),
    "half a character": WHOLE.replace("Ann", "\\ud83d"),
    "deep": "[" * 50_000 + "]" * 50_000,
    "an array": [GOOD],
    "null": "null",
    "thoughts alone": "<think>Is this it?",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_an_answer_that_cannot_be_read_is_asked_for_once_more_with_what_is_wrong(
    subject: Subject, wrong: Any
) -> None:
    subject.script(Step(wrong), Step(GOOD))
    assert await subject.ask() == READ
    first, second = subject.bodies
    assert second["messages"][:2] == first["messages"]
    assert [message["role"] for message in second["messages"][2:]] == ["assistant", "user"]
    assert second["messages"][3]["content"].startswith("Your answer cannot be used: ")


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_is_asked_once_more_is_little_longer_however_long_the_answer_was(
    subject: Subject, wrong: Any
) -> None:
    subject.script(Step(wrong), Step(GOOD))
    await subject.ask()
    first, second = (len(request.body) for request in subject.requests)
    assert second - first < 5_000


async def test_the_repair_quotes_the_mistake_with_its_place(subject: Subject) -> None:
    subject.script(Step({"notes": [GOOD["notes"][0], {"text": "x", "kind": "opinion"}]}), Step(GOOD))
    await subject.ask()
    said = subject.bodies[1]["messages"][3]["content"]
    assert "answer.notes[1].kind: Input should be 'fact' or 'event'" in said


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_two_answers_that_cannot_be_read_are_an_error_without_their_text(subject: Subject, wrong: Any) -> None:
    subject.script(Step(wrong, times=None))
    with pytest.raises(ModelAnswerRejected) as caught:
        await subject.ask("classify")
    assert len(subject.bodies) == 2
    assert len(subject.spent) == 2
    assert subject.model.name("classify") in caught.value.detail
    for text in ("Ann", "opinion", "mood", "rather", SECRET):
        assert text not in caught.value.detail


async def test_an_answer_that_was_cut_off_gets_more_room_the_second_time(subject: Subject) -> None:
    subject.script(Step(WHOLE[:20], finish_reason="length"), Step(GOOD))
    assert await subject.ask(max_tokens=100) == READ
    assert [body["max_tokens"] for body in subject.bodies] == [100, 200]
    subject.script(Step(WHOLE[:20], finish_reason="length", times=None))
    with pytest.raises(ModelAnswerRejected, match="cut off"):
        await subject.ask()


async def test_a_model_that_thinks_first_gets_room_for_it_from_then_on(subject: Subject) -> None:
    subject.script(Step("", finish_reason="length", reasoning="Is this it?"), Step(GOOD, times=None))
    assert await subject.ask(max_tokens=100) == READ
    assert await subject.ask(max_tokens=100) == READ
    assert [body["max_tokens"] for body in subject.bodies] == [100, 200 + THINKING_TOKENS, 100 + THINKING_TOKENS]


@pytest.mark.parametrize("step", [Step("", refusal="I cannot."), Step("", finish_reason="content_filter")], ids=str)
async def test_a_model_that_refuses_to_answer_is_not_asked_again(subject: Subject, step: Step) -> None:
    subject.script(step)
    with pytest.raises(ModelAnswerRejected, match="refuses to answer extract"):
        await subject.ask()
    assert len(subject.bodies) == 1


async def test_a_model_without_schemas_is_given_the_schema_in_the_prompt_from_then_on(subject: Subject) -> None:
    subject.models.refuse("json_schema")
    subject.script(Step(GOOD, times=None))
    assert await subject.ask() == READ
    assert await subject.ask() == READ
    assert [body["response_format"]["type"] for body in subject.bodies] == ["json_schema", "json_object", "json_object"]
    rules, said = subject.bodies[-1]["messages"]
    assert rules["content"].startswith("Take notes.\n\n")
    assert '"title":"notes"' in rules["content"]
    assert '"enum":["fact","event"]' in rules["content"]
    assert said["content"] == SECRET
    assert len(subject.spent) == 2


async def test_a_model_without_any_form_of_answer_is_asked_for_it_in_words(subject: Subject) -> None:
    subject.models.refuse("json_schema", "json_object", "temperature")
    subject.script(Step(GOOD, times=None))
    assert await subject.ask() == READ
    asked = len(subject.bodies)
    assert asked == 4
    assert await subject.ask() == READ
    assert len(subject.bodies) == asked + 1
    assert subject.bodies[-1].keys() == {"model", "messages", "max_tokens"}


async def test_a_limit_by_another_name_is_found_out_once(subject: Subject) -> None:
    subject.models.refuse("max_tokens")
    subject.script(Step(GOOD, times=None))
    await subject.ask(max_tokens=50)
    await subject.ask(max_tokens=60)
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in subject.bodies]
    assert limits == [(50, None), (None, 50), (None, 60)]


async def test_what_one_model_does_not_take_another_is_still_asked(subject: Subject) -> None:
    subject.models.refuse("temperature")
    subject.script(Step(GOOD, times=None))
    await subject.ask("extract")
    subject.models.refuse()
    await subject.ask("verify")
    await subject.ask("synthesise")
    assert ["temperature" in body for body in subject.bodies] == [True, False, False, True]


async def test_a_schema_that_could_not_be_met_is_put_into_the_prompt_this_once(subject: Subject) -> None:
    unmet = Step(status=400, body={"errors": [{"code": 5024, "message": "AiError: JSON Mode couldn't be met"}]})
    if subject.operation == "openai.chat":
        unmet = Step(status=400, body={"error": {"message": "JSON Mode couldn't be met"}})
    subject.script(unmet, Step(GOOD, times=None))
    assert await subject.ask() == READ
    assert await subject.ask() == READ
    formats = [body["response_format"]["type"] for body in subject.bodies]
    assert formats == ["json_schema", "json_object", "json_schema"]


async def test_an_answer_longer_than_may_be_is_not_read(subject: Subject) -> None:
    subject.script(Step("x" * MAX_ANSWER_BYTES))
    with pytest.raises(UpstreamRejected, match=f"more than {MAX_ANSWER_BYTES} bytes"):
        await subject.ask()
    assert len(subject.bodies) == 1
    subject.script(Step(GOOD))
    assert await subject.ask() == READ


BODIES = [b"<html>", b"", b"[]", b"{}", b"null", b'"x"', b'{"choices":[]}', b'{"choices":[{}]}', b'{"choices":[null]}']
BODIES += [b'{"error":{"message":"no"}}', b'[{"text":"x"}]', b'{"object":"list","data":[]}', b"\xff\xfe", b"[" * 99999]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:30])
async def test_what_answers_no_chat_completion_is_no_server_of_models(subject: Subject, body: bytes) -> None:
    subject.fail(status=200, body=body)
    with pytest.raises(UpstreamRejected, match="answered something that is no") as caught:
        await subject.ask()
    assert not isinstance(caught.value, ModelAnswerRejected)
    assert subject.model.name("extract") in caught.value.detail
    assert len(subject.bodies) == 1


Kinds: TypeAlias = type[Unavailable] | tuple[type[Unavailable], ...]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"status": 400, "body": {"error": {"message": SECRET}}}, UpstreamRejected),
        ({"status": 401}, CredentialsRefused),
        ({"status": 402, "body": {"error": {"message": SECRET}}}, QuotaExhausted),
        ({"status": 403}, CredentialsRefused),
        ({"status": 404, "body": {"error": {"message": SECRET}}}, UpstreamRejected),
        ({"status": 408, "body": {"error": {"message": SECRET}}}, UpstreamTimeout),
        ({"status": 410, "body": {"error": {"message": SECRET}}}, UpstreamRejected),
        ({"status": 413, "body": {"error": {"message": SECRET}}}, UpstreamRejected),
        ({"status": 429, "body": {"error": {"message": SECRET}}}, RateLimited),
        ({"status": 500, "body": {"error": {"message": SECRET}}}, UpstreamUnavailable),
        ({"status": 502, "body": SECRET.encode()}, UpstreamUnavailable),
        ({"status": 503, "body": {"error": {"message": SECRET}}}, UpstreamOverloaded),
        ({"status": 504}, UpstreamTimeout),
        ({"kind": "cut"}, UpstreamUnavailable),
        ({"kind": "half_body"}, UpstreamUnavailable),
        ({"kind": "after_effect_cut"}, UpstreamUnavailable),
        ({"kind": "invalid_json"}, UpstreamRejected),
    ],
    ids=str,
)
async def test_a_call_that_fails_is_an_error_of_the_tree_that_names_the_model_and_is_not_made_again(
    subject: Subject, fault: Any, kind: Kinds
) -> None:
    subject.fail(**fault)
    with pytest.raises(kind) as caught:
        await subject.ask("synthesise")
    assert len(subject.bodies) == 1
    assert SECRET not in caught.value.detail + repr(caught.value.__cause__)
    if not isinstance(caught.value, CredentialsRefused):
        assert LARGE in caught.value.detail
    subject.script(Step(GOOD))
    assert await subject.ask() == READ


async def test_a_limit_that_says_how_long_it_lasts_is_passed_on_and_lets_other_calls_pass(subject: Subject) -> None:
    subject.fail(status=429, body={"error": {"message": "slow down"}}, headers={"retry-after": "17"})
    with pytest.raises(RateLimited) as caught:
        await subject.ask()
    assert caught.value.retry_after == 17
    subject.script(Step(GOOD))
    assert await subject.ask() == READ


@pytest.mark.parametrize("status", [404, 410])
async def test_a_model_that_is_gone_is_named_with_the_setting_that_names_it(subject: Subject, status: int) -> None:
    subject.fail(status=status, body={"error": {"message": "gone", "code": "model_not_found"}})
    with pytest.raises(UpstreamRejected) as caught:
        await subject.ask("synthesise")
    assert LARGE in caught.value.detail
    assert "LANGUAGE_MODEL_NAME" in caught.value.detail


@pytest.mark.parametrize("fault", [{"kind": "hang"}, {"delay_seconds": 30.0}], ids=str)
async def test_a_call_ends_after_the_seconds_it_is_given(subject: Subject, fault: Any) -> None:
    subject.fail(**fault)
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamTimeout):
            await subject.ask(seconds=0.2)
    subject.script(Step(GOOD, times=None))  # the double may still read the call that was given up
    assert await subject.ask() == READ


async def test_the_loop_goes_on_while_an_answer_is_read_and_no_longer_than_the_call_may_take(subject: Subject) -> None:
    subject.script(Step(GOOD))
    read, form = threading.Event(), MagicMock(wraps=FORM, json_schema=FORM.json_schema)
    form.name = FORM.name
    form.read.side_effect = lambda answer: (read.wait(30), FORM.read(answer))[1]
    with pytest.raises(UpstreamTimeout, match="was not read in time"):
        await subject.ask(form=form, seconds=0.5)
    read.set()


async def test_what_is_asked_once_more_ends_within_the_same_seconds(subject: Subject) -> None:
    subject.script(Step("nonsense"), Step(GOOD, delay_seconds=30))
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamTimeout):
            await subject.ask(seconds=0.3)
    assert len(subject.bodies) == 2


async def test_a_call_that_is_cancelled_leaves_the_model_usable(subject: Subject) -> None:
    subject.fail(kind="hang")
    call = asyncio.create_task(subject.ask())
    while not subject.requests:
        await asyncio.sleep(0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    subject.script(Step(GOOD))
    assert await subject.ask() == READ


async def test_sixteen_calls_at_once_are_answered(subject: Subject) -> None:
    subject.script(Step(GOOD, delay_seconds=0.05, times=None))
    assert await asyncio.gather(*(subject.ask() for _ in range(16))) == [READ] * 16
    assert subject.models.most_at_once("notes") > 1


async def test_a_ping_asks_each_model_once(subject: Subject) -> None:
    await subject.model.ping()
    assert sorted(body["model"] for body in subject.bodies) == sorted([LARGE, SMALL])
    assert all(body["max_tokens"] <= 256 for body in subject.bodies)


async def test_a_ping_names_the_model_that_does_not_answer(subject: Subject) -> None:
    subject.fail(status=404, body={"error": {"message": "gone", "code": "model_not_found"}})
    with pytest.raises(Unavailable, match=SMALL):
        await subject.model.ping()


@pytest.mark.parametrize("text", ["", "\x00\x01\u200b", "🙂" * 5000, "a\nb\tc", "\ud83d", '"}]}'])
async def test_unusual_text_is_sent(subject: Subject, text: str) -> None:
    subject.script(Step(GOOD))
    answer = await subject.model.complete(
        [ModelMessage("user", text)], FORM, stage="extract", max_tokens=10, affinity="a"
    )
    assert answer == READ
