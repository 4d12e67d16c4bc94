"""A long message is evidence as far as a model has read it, and holds nobody up."""

import re
from pathlib import Path
from typing import Any

import pytest

from app.domain.messages import NewMessage
from tests.services.ingest.learning.scenes import SAID_AT, scene, user
from tests.support.cost import longest_step
from tests.support.scripted_model import ScriptedModel, lines_of, memory

STALL_SECONDS = 0.05
FILL = "Some words of no weight stand here. " * 500
"""Longer than what a model reads at once."""


def saying(statement: str, where: str) -> ScriptedModel:
    """Return a model that proposes a statement where what it reads has some words, and cites the line that it reads."""

    def extract(text: str) -> Any:
        return {"memories": [memory(statement, number) for number, _, _, said in lines_of(text) if where in said]}

    return ScriptedModel({"extract": extract})


@pytest.mark.parametrize(
    ("text", "learned"),
    [
        (f"I bought a violin. {FILL} The end is here.", 0),
        (f"{FILL} I bought a violin. The end is here.", 1),
    ],
    ids=["elsewhere in the message", "in what was read"],
)
async def test_a_proposal_rests_on_what_of_a_message_was_read_with_it(tmp_path: Path, text: str, learned: int) -> None:
    model = saying("The user bought a violin.", "The end is here")
    async with scene(tmp_path, model) as made:
        report = await made.learned(user(text))
        assert report.counts.proposals == ({"learned": 1} if learned else {"dropped": 1})


@pytest.mark.thorough
async def test_a_pasted_table_of_which_much_is_proposed_holds_nobody_up(tmp_path: Path) -> None:
    rows = [f"{number},customer{number},Street {number % 97},Oslo,2026-03-1{number % 9}" for number in range(1, 3400)]
    text = "\n".join(rows)[: 4 * 32_000]
    messages = [
        NewMessage("user", text[begin : begin + 32_000], SAID_AT + begin) for begin in range(0, len(text), 32_000)
    ]

    def extract(text: str) -> Any:
        (number,) = {number for number, _, before, _ in lines_of(text) if not before}
        found = re.findall(r"customer(\d+),(Street \d+)", text)[-30:]
        return {"memories": [memory(f"Customer{name} is in {street}, Oslo.", number) for name, street in found]}

    async with scene(tmp_path, ScriptedModel({"extract": extract})) as made:

        async def learned(attempt: int) -> None:
            report = await made.learned(messages, session=f"s{attempt}")
            assert report.counts.proposals["learned"] > 100

        assert await longest_step(learned, STALL_SECONDS) <= STALL_SECONDS
