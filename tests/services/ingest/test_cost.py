"""What an ingestion costs beside its vectors."""

import time
from pathlib import Path

from app.domain.messages import NewMessage
from app.services.ingest.ingester import Ingester
from tests.support.cost import within
from tests.support.gateways import ADMINISTRATOR, bench_on

_SECONDS = 0.3
_TEXTS = [
    "I moved to Oslo last spring, and the office is around the corner.",
    "Noted. Shall I update the address on the invoices as well?",
    "Yes please, and we use pnpm now, not npm.",
    "By Friday I need to send the budget to Ann.",
]


async def test_a_hundred_short_messages_cost_at_most_three_tenths_of_a_second(tmp_path: Path) -> None:
    async with bench_on(tmp_path) as bench:
        ingester = Ingester(bench.backends.of_tenant("acme", ADMINISTRATOR))
        spent = []
        for attempt in range(4):
            messages = [NewMessage("user", f"{number}: {_TEXTS[number % 4]}", 1000 + number) for number in range(100)]
            began = time.process_time()
            await bench.embedder.inner.embed([message.content for message in messages], "document")
            vectors = time.process_time() - began
            began = time.process_time()
            ended = await ingester.ingest("bot", messages, f"s{attempt}")
            spent.append(time.process_time() - began - vectors)
            assert ended.written == 100
        assert within(min(spent), _SECONDS), spent
