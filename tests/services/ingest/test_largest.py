"""The largest conversation that is taken at once, on everything the service may run on."""

from pathlib import Path

import pytest

from app.domain.messages import NewMessage
from app.services.ingest.ingester import Ingester
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, bench_on, with_changed

LARGEST = 32 * 1024


@pytest.mark.long
async def test_the_most_messages_of_the_largest_size_are_taken_and_become_memories(
    tmp_path: Path, backend: Backend
) -> None:
    text = "words of it " * 2800
    messages = [NewMessage("user", f"Message {number}: {text}"[:LARGEST], 1000 + number) for number in range(499)]
    messages.append(NewMessage("user", "\x01" * (LARGEST - 1) + "x"))  # six times as long in JSON
    assert {len(message.content) for message in messages} == {LARGEST}
    async with bench_on(tmp_path, backend) as bench:
        backends = with_changed(bench.backends, ingest_seconds=600.0).of_tenant("acme", ADMINISTRATOR)
        ended = await Ingester(backends).ingest("bot", messages, "s")
        assert (ended.status, ended.written, len(ended.items)) == ("done", 500, 500)
        assert await bench.memories() == 500
        again = await Ingester(backends).ingest("bot", messages, "s")
        assert again.known == 500
