"""The doctor sees what is damaged in the index of words and in that of vectors, and operators are told of it."""

from pathlib import Path

import pytest

from app.bootstrap import build_runtime
from app.indexing.jobs.merge_words import merge_words
from app.ports.database import Statement
from app.runtime.doctor import diagnose
from tests.support.service import Service, serving, settings_for

CUT = "UPDATE local_vector SET vector = substr(vector, 1, 10)"
QUEUED = "UPDATE outbox SET vector = substr(vector, 1, 10)"
ZEROS = "UPDATE memory_words_data SET block = zeroblob(length(block)) WHERE id > 10"
EMPTIED = "INSERT INTO memory_words (memory_words) VALUES ('delete-all')"


async def failing(service: Service) -> list[str]:
    return [check.name for check in await diagnose(service.runtime) if not check.ok]


async def change(service: Service, sql: str) -> None:
    await service.runtime.backends.database.run([Statement(sql, writes=True)])


@pytest.mark.parametrize(
    ("damage", "part"),
    [(EMPTIED, "index of words"), (ZEROS, "index of words"), (CUT, "vectors"), (QUEUED, "vectors")],
    ids=["emptied words", "damaged blocks", "cut vector", "cut vector in the outbox"],
)
async def test_the_doctor_fails_at_the_index_that_is_damaged(tmp_path: Path, damage: str, part: str) -> None:
    async with serving(tmp_path) as service:
        await service.store("a fox in the snow")
        assert await failing(service) == []
        await change(service, damage)
        assert await failing(service) == [part]


async def test_readiness_and_the_metrics_tell_that_words_are_missing_until_they_are_made_again(tmp_path: Path) -> None:
    runtime = build_runtime(settings_for(tmp_path))
    await runtime.prepare()
    try:
        for words_missing in (False, True, False):
            await runtime.backends.database.run(
                [Statement(_INDEXED_TO.format("-1" * words_missing or "0"), writes=True)]
            )
            if not words_missing:
                await merge_words(runtime.backends.database)
            await runtime.indexer.round()
            notices = [part.notice for part in await runtime.checks.parts() if part.name == "data"]
            assert any(notice is not None and "index of words" in notice for notice in notices) is words_missing
            assert f"memory_gateway_words_missing {float(words_missing)}" in runtime.metrics.render().decode()
    finally:
        await runtime.close()


_INDEXED_TO = "UPDATE words_index SET indexed_to = {}"
