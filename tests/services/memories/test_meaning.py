"""The embedded default finds by meaning."""

from pathlib import Path

import pytest

from tests.support.service import serving

pytestmark = pytest.mark.thorough

SUBJECTS = [
    "The printer",
    "Our office plant",
    "The night train",
    "A violin",
    "The harbour",
    "My neighbour",
    "The recipe",
]
VERBS = ["was moved to", "has been seen near", "smells like", "never reaches", "was painted after"]
PLACES = ["the third floor", "a field of barley", "an old lighthouse", "the dentist", "a frozen lake", "the moon"]
UNRELATED = [f"{subject} {verb} {place}." for subject in SUBJECTS for verb in VERBS for place in PLACES][:60]


async def test_the_one_memory_that_answers_comes_first_among_sixty_others(tmp_path: Path) -> None:
    async with serving(tmp_path, embedder="local") as service:
        for sentence in UNRELATED[:30]:
            await service.store(sentence)
        await service.store("The customer prefers invoices in Swedish")
        for sentence in UNRELATED[30:]:
            await service.store(sentence)
        found = await service.contents("which language should bills be in?")
        assert len(UNRELATED) == 60
        assert found[0] == "The customer prefers invoices in Swedish"
