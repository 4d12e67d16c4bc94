"""A service with a language model, over the routes and over a socket to the double."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from structlog.testing import capture_logs

from app.bootstrap import build_runtime
from app.domain.errors import ConfigurationError, QuotaExceeded, UpstreamTimeout
from app.ports.language_model import STAGES, ModelMessage
from app.runtime.doctor import diagnose
from app.runtime.language_model import write_spend
from app.services.models.schema import schema
from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.faults import Fault
from memory_gateway_double.models.language import Step
from memory_gateway_double.server import Handle, running
from tests.support.backends import running_on
from tests.support.service import Service, serving, settings_for


@dataclass(frozen=True)
class Word:
    word: Annotated[str, Field(max_length=9)]


FORM = schema("word", Word)
MESSAGES = [ModelMessage("user", "a secret message")]


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running(DoubleOptions()) as handle:
        yield handle


@pytest.fixture(autouse=True)
def _as_it_was(double: Handle) -> Iterator[None]:
    double.double.reset_calls()
    double.double.models.script("word", Step({"word": "yes"}, times=None))
    yield
    double.double.faults.clear()
    double.double.models.clear()


def over_http(double: Handle, **more: Any) -> dict[str, Any]:
    key = double.double.options.openai_api_key
    url = double.openai_url
    named = {"language_model_base_url": url, "language_model_api_key": key, "language_model_name": "any"}
    return {"language_model": "http", **named, **more}


@asynccontextmanager
async def started(tmp_path: Path, double: Handle, **settings: Any) -> AsyncIterator[Service]:
    """A service that has asked its one model whether it is there."""
    async with serving(tmp_path, **over_http(double, **settings)) as service:
        while not double.double.calls().get("openai.chat"):
            await asyncio.sleep(0.005)
        yield service


async def ask(service: Service, tenant: str = "acme", **given: Any) -> Word:
    model = service.runtime.services(tenant).backends.models.model
    assert model is not None
    asked: dict[str, Any] = {"stage": "extract", "max_tokens": 50, "affinity": "bot"} | given
    return await model.complete(MESSAGES, FORM, **asked)


async def usage(service: Service, tenant: str = "acme") -> Any:
    answer = await service.client.get("/usage", headers=service.credential(tenant, admin=True))
    assert answer.status_code == 200, answer.text
    return answer.json().get("models")


async def test_usage_tells_the_calls_and_tokens_of_today_written_or_not(tmp_path: Path, double: Handle) -> None:
    async with serving(tmp_path, **over_http(double, tenant_model_calls_per_day=9)) as service:
        nothing = {"calls_today": 0, "tokens_today": 0, "limits": {"calls_per_day": 9}}
        assert await usage(service) == nothing
        assert await ask(service) == Word("yes")
        told = await usage(service)
        assert (told["calls_today"], told["tokens_today"] > 0) == (1, True)
        await write_spend(service.runtime.backends)
        assert await usage(service) == told
        await ask(service, stage="synthesise")
        assert (await usage(service))["calls_today"] == 2
        assert await usage(service, "other") == nothing
        metrics = (await service.client.get("/metrics")).text
        assert 'memory_gateway_model_tokens_total{model="http/any",stage="synthesise"}' in metrics


async def test_a_limit_of_a_day_holds_for_each_tenant_across_a_restart(tmp_path: Path, double: Handle) -> None:
    settings = over_http(double, tenant_model_calls_per_day=1)
    async with serving(tmp_path, **settings) as service:
        await ask(service)
    async with serving(tmp_path, **settings) as service:
        backends = service.runtime.backends
        backends.model_spend.check("acme", backends.clock())
        await write_spend(backends)
        with pytest.raises(QuotaExceeded, match="1 calls of language models per day"):
            await ask(service)
        await ask(service, "other")


async def test_an_agents_own_credential_and_a_service_without_a_model_are_told_of_no_models(
    tmp_path: Path, double: Handle
) -> None:
    async with started(tmp_path, double) as service:
        answer = await service.client.get("/usage", headers=service.credential(agent="bot"))
        assert answer.json().keys() == {"agents"}
    async with serving(tmp_path, **over_http(double, language_model="none")) as service:
        assert await usage(service) is None
        assert service.runtime.services("acme").backends.models.model is None
        await service.store("the red fox")
        assert await service.recall("red fox")
    assert double.double.models.calls() == {"": 1}  # the ping at the first start


async def test_being_ready_costs_no_call_of_a_model(tmp_path: Path, double: Handle) -> None:
    async with started(tmp_path, double) as service:
        before = double.double.calls().get("openai.chat", 0)
        for _ in range(3):
            answer = await service.client.get("/readyz")
            assert answer.status_code == 200
            assert "language model" not in answer.text
        assert double.double.calls().get("openai.chat", 0) == before


async def test_the_doctor_asks_each_model_once_and_names_one_that_is_gone(tmp_path: Path, double: Handle) -> None:
    names = {"synthesise": "large"}
    async with serving(tmp_path, **over_http(double, language_model_names=names)) as service:
        while double.double.calls().get("openai.chat") != 2:  # the start asks too
            await asyncio.sleep(0.005)
        double.double.reset_calls()
        checks = {check.name: check for check in await diagnose(service.runtime)}
        assert checks["language model"].finding == "http/any, http/large"
        assert double.double.calls()["openai.chat"] == 2
        double.double.faults.add(Fault("openai.chat", status=404))
        checks = {check.name: check for check in await diagnose(service.runtime)}
        found = checks["language model"]
        assert (found.ok, found.warning) == (True, True)
        assert "no model http/any" in found.finding
        assert "LANGUAGE_MODEL_NAME" in found.finding


async def test_a_model_that_is_gone_is_named_at_the_start_which_does_not_fail(tmp_path: Path, double: Handle) -> None:
    double.double.faults.add(Fault("openai.chat", status=404))
    with capture_logs() as logs:
        async with started(tmp_path, double) as service:
            await service.store("the red fox")
            async with asyncio.timeout(5):
                while not any(entry["event"] == "language_model_away" for entry in logs):
                    await asyncio.sleep(0.005)
    (entry,) = [entry for entry in logs if entry["event"] == "language_model_away"]
    assert "no model http/any" in entry["reason"]


async def test_each_stage_is_asked_of_its_own_model_for_its_own_time(tmp_path: Path, double: Handle) -> None:
    settings = over_http(double, language_model_names={"synthesise": "large"}, language_model_seconds=0.1)
    async with serving(tmp_path, **settings, recall_model_seconds=3.0) as service:
        model = service.runtime.services("acme").backends.models.model
        assert model is not None
        assert [model.name(stage) for stage in STAGES] == ["http/any"] * 5 + ["http/large"]
        assert model.waits.recall == 3.0
        double.double.models.clear()
        double.double.models.script("word", Step({"word": "yes"}, delay_seconds=0.5, times=None))
        with pytest.raises(UpstreamTimeout):
            await ask(service)
        assert await ask(service, seconds=5.0) == Word("yes")


async def test_on_cloudflare_the_models_for_each_stage_are_chosen_and_share_the_client(tmp_path: Path) -> None:
    with running_on("cloudflare") as account:
        async with serving(tmp_path, on=account, language_model="workers-ai", indexer_seconds=30) as service:
            double = account.doubles[tmp_path].double
            double.models.script("word", Step({"word": "yes"}))
            model = service.runtime.services("acme").backends.models.model
            assert model is not None
            assert model.name("extract") == "workers-ai/@cf/meta/llama-4-scout-17b-16e-instruct"
            assert model.name("synthesise") == "workers-ai/@cf/nvidia/nemotron-3-120b-a12b"
            assert await ask(service) == Word("yes")
            assert double.calls()["ai.chat"] >= 1


HTTP = {"language_model": "http", "language_model_base_url": "http://127.0.0.1:9/v1"}
OPENAI = {"language_model": "openai"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"language_model": "http"}, "LANGUAGE_MODEL_BASE_URL is not set"),
        ({"language_model": "workers-ai"}, "CLOUDFLARE_ACCOUNT_ID"),
        (OPENAI | {"openai_api_key": "k"}, "LANGUAGE_MODEL_NAME is not set"),
        (OPENAI | {"openai_api_key": "k", "language_model_names": {"extract": "a"}}, "LANGUAGE_MODEL_NAME is not set"),
        (OPENAI | {"language_model_name": "gpt-4.1-mini"}, "OPENAI_API_KEY is not set"),
    ],
)
def test_a_language_model_that_lacks_a_setting_is_refused_with_its_name(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        build_runtime(settings_for(tmp_path, **given))


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (HTTP, ["http"] * 6),
        (HTTP | {"language_model_names": {"verify": "v"}}, ["http", "http", "http/v", "http", "http", "http"]),
        (OPENAI | {"language_model_api_key": "k", "language_model_name": "m"}, ["openai/m"] * 6),
        (
            OPENAI | {"openai_api_key": "k", "language_model_names": dict(zip(STAGES, "abcdef", strict=True))},
            [f"openai/{name}" for name in "abcdef"],
        ),
    ],
)
async def test_the_settings_say_which_model_answers_which_stage(
    tmp_path: Path, given: dict[str, Any], names: list[str]
) -> None:
    runtime = build_runtime(settings_for(tmp_path, **given))
    assert runtime.backends.model is not None
    assert [runtime.backends.model.name(stage) for stage in STAGES] == names
    await runtime.close()
