"""A flood without a credential does not keep a tenant's requests from being answered."""

import asyncio

import httpx
import pytest

from tests.support.service import Service, serving

_FLOOD = 100


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/openapi.json", {}, 200),
        ("/metrics", {}, 200),
        ("/llms.txt", {}, 200),
        ("/docs/assets/swagger-ui.css", {}, 200),
        ("/nothing", {}, 404),
        ("/memories", {}, 401),
        ("/memories", {"Authorization": "Bearer x.y.z"}, 401),
        ("/openapi.json", {"Authorization": "Bearer x.y.z"}, 200),
    ],
)
async def test_a_tenant_is_answered_before_most_of_a_flood(
    tmp_path_factory: pytest.TempPathFactory, path: str, headers: dict[str, str], status: int
) -> None:
    async with serving(tmp_path_factory.mktemp("flood") / "data") as service:
        await service.store("The sky is blue")
        await service.client.get(path, headers=headers)  # what is made once is made now
        answered: list[int] = []

        async def ask() -> None:
            answer = await service.client.get(path, headers=headers)
            answered.append(answer.status_code)

        flood = [asyncio.create_task(ask()) for _ in range(_FLOOD)]
        await asyncio.sleep(0)
        recalled = await _recalled(service)
        before = len(answered)
        await asyncio.gather(*flood)
        assert recalled.status_code == 200
        assert set(answered) == {status}
        assert before < _FLOOD / 2


async def _recalled(service: Service) -> httpx.Response:
    return await service.post("/recall", {"agent_id": "bot", "query": "sky"})
