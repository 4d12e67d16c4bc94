"""The doctor sees what is damaged in the index of words and in that of vectors, and operators are told of it."""

from pathlib import Path

import pytest

from app.bootstrap import build_runtime
from app.indexing.jobs.merge_words import merge_words
from app.runtime.doctor import diagnose
from tests.support.damage import damage
from tests.support.service import Service, serving, settings_for
from tests.support.tables import set_rows


async def failing(service: Service) -> list[str]:
    return [check.name for check in await diagnose(service.runtime) if not check.ok]


@pytest.mark.parametrize(
    ("how", "part"),
    [
        *(("emptied", "index of words"), ("blocks of zeros", "index of words")),
        *(("cut vector", "vectors"), ("vector of no numbers", "vectors")),
        *(("vector with an infinite number", "vectors"), ("cut vector in the outbox", "vectors")),
    ],
)
async def test_the_doctor_fails_at_the_index_that_is_damaged(tmp_path: Path, how: str, part: str) -> None:
    async with serving(tmp_path) as service:
        await service.store("a fox in the snow")
        assert await failing(service) == []
        await damage(service, how)
        assert await failing(service) == [part]


async def test_readiness_and_the_metrics_tell_that_words_are_missing_until_they_are_made_again(tmp_path: Path) -> None:
    runtime = build_runtime(settings_for(tmp_path))
    await runtime.prepare()
    try:
        for words_missing in (False, True, False):
            await set_rows(runtime, "words_index", {"indexed_to": -1 if words_missing else 0})
            if not words_missing:
                await merge_words(runtime.backends.database)
            await runtime.indexer.round()
            notices = [part.notice for part in await runtime.checks.parts() if part.name == "data"]
            assert any(notice is not None and "index of words" in notice for notice in notices) is words_missing
            assert f"memory_gateway_words_missing {float(words_missing)}" in runtime.metrics.render().decode()
    finally:
        await runtime.close()
