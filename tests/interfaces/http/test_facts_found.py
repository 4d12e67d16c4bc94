"""After runs that taught many facts, ten of them 200, a question in natural words finds the fact that answers it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import Service, serving

pytestmark = pytest.mark.thorough

DATA = Path(__file__).parents[2] / "data/facts"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


async def teach(service: Service, facts: list[dict[str, Any]], runs: int) -> None:
    """Run the agent so many times; each run learns its facts, among them corrections of earlier ones."""
    for number in range(1, runs + 1):
        begun = await service.post("/runs", {"agent_id": "bot", "agent_type": "assistant", "input": number})
        run_id = begun.json()["run_id"]
        for fact in (each for each in facts if each["run"] == number):
            told = {name: value for name, value in fact.items() if name != "run"}
            answer = await service.post("/facts", {"agent_id": "bot", **told, "learned_from_run_id": run_id})
            assert answer.status_code == 201, answer.text
        ended = await service.post(f"/runs/{run_id}/complete", {"output": None})
        assert ended.status_code == 200, ended.text


async def missed(service: Service, questions: list[dict[str, Any]]) -> list[str]:
    """Return the questions whose fact is not among the first five."""
    without = []
    for asked in questions:
        body = {"agent_id": "bot", "query": asked["question"], "top_k": 5}
        found = (await service.post("/facts/recall", body)).json()["entries"]
        if asked["fact_id"] not in [entry.get("fact_id") for entry in found]:
            without.append(asked["question"])
    return without


@pytest.mark.parametrize(("runs", "asked", "found"), [(4, 20, 0.95), pytest.param(10, 50, 0.9, marks=pytest.mark.long)])
async def test_a_question_in_natural_words_finds_its_fact_among_the_first_five(
    tmp_path: Path, runs: int, asked: int, found: float
) -> None:
    """``found``: of how many questions at least; tests/data/facts/ORIGIN.md has the figures."""
    facts = [fact for fact in lines("facts.jsonl") if fact["run"] <= runs]
    known = {fact["fact_id"] for fact in facts}
    questions = [each for each in lines("open.jsonl") + lines("sealed.jsonl") if each["fact_id"] in known]
    async with serving(tmp_path, embedder="local") as service:
        await teach(service, facts, runs)
        without = await missed(service, questions)
    assert len(questions) == asked
    assert len(questions) - len(without) >= found * len(questions), without
