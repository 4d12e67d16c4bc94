"""What a cache in front of the service may keep: nothing of one caller that it could give to another."""

from collections.abc import AsyncIterator

import pytest

from tests.support.service import Service, serving

SHARED = {"/llms.txt", "/docs", "/openapi.json"}


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    async with serving(tmp_path_factory.mktemp("data")) as service:
        yield service


@pytest.mark.parametrize(
    "path",
    [
        *("/working/bot/i/state.js", "/workflows/w.css", "/profiles/bot.png/memories", "/runs/x.pdf", "/nothing.css"),
        *("/memories", "/export", "/usage", "/credentials", "/audit/acts", "/mcp", "/metrics", "/console/nothing.js"),
    ],
)
async def test_no_cache_keeps_what_a_caller_is_answered_whatever_the_path_looks_like(
    service: Service, path: str
) -> None:
    headers = service.credential(admin=True)
    await service.client.put("/working/bot/i/state.js", json={"value": "a secret"}, headers=headers)
    workflow = {"agent_type": "a", "task_type": "t", "spec": {}}
    await service.client.put("/workflows/w.css", json=workflow, headers=headers)
    for sent in (headers, {}):
        answer = await service.client.get(path, headers=sent)
        assert answer.headers["cache-control"] == "no-store"


async def test_every_answer_that_is_not_the_same_for_everyone_is_private_or_not_stored(service: Service) -> None:
    context = await service.client.put("/context/a.css", json={"content": "x"}, headers=service.credential(admin=True))
    assert context.status_code == 200
    for path in ("/context/a.css", "/context/a.css/versions", "/context"):
        answer = await service.client.get(path, headers=service.credential())
        assert answer.headers["cache-control"].split(",")[0] in {"private", "no-store"}
    for path in SHARED:
        assert (await service.client.get(path)).headers["cache-control"].startswith("public")
