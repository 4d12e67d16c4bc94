"""The example by which Agent Memory is described: four messages, and which package manager the user prefers."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.domain.messages import NewMessage
from app.services.profiles.profile import ProfileService
from tests.services.believing_reader import BelievingReader
from tests.services.ingest.learning.scenes import SAID_AT, scene
from tests.support.models import analysis, answer
from tests.support.scripted_model import ScriptedModel, memories_of, memory

PREFERS, DARK = "The user prefers pnpm over npm.", "The user wants dark mode by default."
PROJECT = "The project uses React and TypeScript."
CHAT = [
    NewMessage("user", "Set up the project with React and TypeScript.", SAID_AT),
    NewMessage("assistant", "Done. Scaffolded a React + TypeScript project targeting Workers.", SAID_AT + 1000),
    NewMessage("user", "Use pnpm, not npm. And dark mode by default.", SAID_AT + 2000),
    NewMessage("assistant", "Got it -- pnpm and dark mode as default.", SAID_AT + 3000),
]
KINDS = {PREFERS: ("fact", "package manager"), DARK: ("instruction", "colour mode"), PROJECT: ("event", "")}


def extracted(_: str) -> Any:
    return {"memories": [memory(PROJECT, 1, 2), memory(PREFERS, 3), memory(DARK, 3)]}


def classified(text: str) -> Any:
    return {
        "memories": [
            {"memory": number, "type": KINDS[content][0], "topic": KINDS[content][1], "queries": ["Which one?"]}
            for number, content in memories_of(text)
        ]
    }


def told(text: str) -> Any:
    """Answer with the memory that says it, by the number that it is shown with."""
    shown = re.search(rf"\((\d+)\) [^\n]*{re.escape(PREFERS)}", text)
    assert shown, text
    return answer((PREFERS, [int(shown[1])]))


class Understanding(BelievingReader):
    """Knows besides that who says "use pnpm, not npm" prefers it; the reader that is shipped is not sure enough."""

    async def follows(
        self, claims: Sequence[tuple[str, str]], *, tenant_id: str = "", seconds: float | None = None
    ) -> Sequence[float]:
        found = await super().follows(claims, tenant_id=tenant_id, seconds=seconds)
        return [1.0 if claim == PREFERS else likely for (_, claim), likely in zip(claims, found, strict=True)]


async def test_of_four_messages_the_one_preferred_package_manager_is_learned_and_answered(tmp_path: Path) -> None:
    analysed = analysis(topics=["package-manager"], statement=PREFERS)
    model = ScriptedModel(
        {"extract": extracted, "classify": classified, "analyse": lambda _: analysed, "synthesise": told}
    )
    async with scene(tmp_path, model) as made:
        made.reader = Understanding()
        await made.learned(CHAT)
        assert (await made.ingest(CHAT)).known == len(CHAT)
        assert {*await made.texts()} == {*KINDS}
        recall = await ProfileService(made.of_tenant()).recall("bot", "What package manager does the user prefer?")
        assert recall.answer.endswith(PREFERS)
        (cited,) = recall.cited
        assert next(each.content for each in recall.entries if each.id == cited) == PREFERS
