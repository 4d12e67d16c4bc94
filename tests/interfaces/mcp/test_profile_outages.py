"""An outage is an error of the four tools, or is said beside what was found: it is never nothing known."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from mcp.client.client import Client

from app.domain.errors import DatabaseUnavailable, EmbeddingUnavailable, UpstreamUnavailable
from app.runtime.backends import Backends
from tests.interfaces.mcp.answers import answered, refused
from tests.interfaces.mcp.connections import over_http
from tests.support.doubles import FailingDatabase, FailingEmbedder, FailingIndex
from tests.support.service import serving

CALLS = [
    ("remember", {"content": "Ann keeps bees."}),
    ("recall", {"query": "What does Ann keep?"}),
    ("forget", {"memory": "01K2Z4M1V7Q8T3B5N6C7D8E9FA"}),
    ("forget", {"memory": "Ann keeps bees"}),
    ("list", {"about": ""}),
    ("list", {"about": "tasks"}),
    ("list", {"about": "bees"}),
]


@dataclass
class Parts:
    """What can fail."""

    database: FailingDatabase
    embedder: FailingEmbedder
    index: FailingIndex


@pytest.fixture
async def failing(tmp_path: Path) -> AsyncIterator[tuple[Client, Parts]]:
    made: list[Parts] = []

    def change(backends: Backends) -> Backends:
        parts = Parts(
            FailingDatabase(backends.database), FailingEmbedder(backends.embedder), FailingIndex(backends.index)
        )
        made.append(parts)
        return replace(backends, database=parts.database, embedder=parts.embedder, index=parts.index)

    async with (
        serving(tmp_path, change=change, indexer_seconds=30) as service,
        over_http(service, service.credential(agent="bot")) as client,
    ):
        headers = service.credential(admin=True)
        await service.client.put("/agents/bot", json={"tools": "profile"}, headers=headers)
        await service.store("Ann keeps bees.")
        yield client, made[0]


async def test_a_database_that_does_not_answer_is_an_error_of_every_call(failing: tuple[Client, Parts]) -> None:
    client, parts = failing
    parts.database.error = DatabaseUnavailable("The disk does not answer.")
    for tool, arguments in CALLS:
        code, text = await refused(client, tool, **arguments)
        assert (code, "Wait 1 s and try again" in text) == ("database_unavailable", True)


async def test_what_was_not_searched_is_said_and_words_then_forget_nothing(failing: tuple[Client, Parts]) -> None:
    client, parts = failing
    parts.index.error = UpstreamUnavailable("The index does not answer.")
    left_out = "Not everything could be searched (index_unavailable): there may be more, or better."
    for tool, arguments in (("recall", {"query": "What does Ann keep?"}), ("list", {"about": "bees"})):
        text = (await answered(client, tool, **arguments))["answer"]
        assert '"Ann keeps bees."' in text
        assert text.splitlines()[-1] == left_out
    text = (await answered(client, "forget", memory="Ann keeps bees"))["answer"]
    assert "Nothing was forgotten: name the memory by its id." in text
    parts.index.error = None
    assert '"Ann keeps bees."' in (await answered(client, "list", about=""))["answer"]


async def test_a_question_that_could_not_be_searched_by_meaning_is_not_said_to_be_unknown(
    failing: tuple[Client, Parts],
) -> None:
    client, parts = failing
    parts.embedder.error = EmbeddingUnavailable("The embedder does not answer.")
    code, _ = await refused(client, "recall", query="zzyzx?")
    assert code == "embedding_unavailable"
    assert (await refused(client, "remember", content="Kim keeps goats."))[0] == "embedding_unavailable"
