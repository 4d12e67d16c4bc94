"""What learning costs of the largest conversation: calls of the model, at once and in all, and memory."""

import tracemalloc
from pathlib import Path

import pytest

from app.domain.messages import NewMessage
from app.services.models import model_calls
from tests.services.ingest.learning.scenes import SAID_AT, scene
from tests.support.scripted_model import ScriptedModel, lines_of, memory

LARGEST = 32 * 1024
MESSAGES = 500
_MOST_BYTES = 40 * 1024 * 1024
"""Beside the messages themselves; it was 26.4 MiB."""


def _one_of_each(text: str) -> object:
    """Propose what the first new line of a transcript says first, where it does."""
    for number, _, before, said in lines_of(text):
        if not before and said.startswith("Message"):
            return {"memories": [memory(said[: said.index(".")], number)]}
    return {"memories": []}


@pytest.mark.long
async def test_the_largest_conversation_is_read_four_calls_at_once_and_in_bounded_memory(tmp_path: Path) -> None:
    text = "and then some words of it " * 1300
    messages = [
        NewMessage("user", f"Message number{number} is from Oslo. {text}"[:LARGEST], SAID_AT + number)
        for number in range(MESSAGES)
    ]
    model = ScriptedModel({"extract": _one_of_each, "detail": _one_of_each}, seconds=0.001, keeps=False)
    async with scene(tmp_path, model) as made:
        tracemalloc.start()
        try:
            ingestion = await made.ingest(messages)
            report = await made.report(ingestion, seconds=3600)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert report.counts.passes == {"done": 2 * MESSAGES}
        assert report.counts.proposals["learned"] == MESSAGES
        assert model.most_at_once == model_calls.AT_ONCE
        assert model.calls["extract"] == model.calls["detail"] == 4 * MESSAGES
        assert model.calls["verify"] == MESSAGES
        assert model.calls["classify"] == -(-MESSAGES // 20)
        assert peak <= _MOST_BYTES
