import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import Unauthenticated
from app.services.access.credentials import REFUSED, Credentials
from tests.support.problem_shape import assert_problem
from tests.support.service import SECRETS, Service, serving
from tests.support.tokens import CLAIMS, TYPE, sign

BODY = {"agent_id": "bot", "query": "anything"}
SECRET = SECRETS["test"]


def without(name: str) -> dict[str, Any]:
    return {claim: value for claim, value in CLAIMS.items() if claim != name}


def unsigned(claims: dict[str, Any], algorithm: str = "none") -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    return f"{part({'alg': algorithm, 'kid': 'test', 'typ': TYPE})}.{part(claims)}."


async def recall_with(service: Service, authorization: str | None) -> httpx.Response:
    headers = {} if authorization is None else {"Authorization": authorization}
    return await service.client.post("/recall", json=BODY, headers=headers)


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer nonsense",
        "Bearer a.b.c",
        f"Bearer {unsigned(CLAIMS)}",
        f"Bearer {unsigned(CLAIMS, 'HS256')}",
        f"Bearer {sign(CLAIMS, 'another secret, also long enough to sign')}",
        f"Bearer {sign(CLAIMS, kid=None)}",
        f"Bearer {sign(CLAIMS, kid='unknown')}",
        f"Bearer {sign(CLAIMS, SECRET * 2, algorithm='HS512')}",
        f"Bearer {sign(CLAIMS | {'exp': 1_700_000_000})}",
        f"Bearer {sign(CLAIMS | {'nbf': 99_999_999_999})}",
        f"Bearer {sign(CLAIMS | {'exp': 'never'})}",
        f"Bearer {sign(CLAIMS | {'exp': float('nan')})}",
        f"Bearer {sign(CLAIMS | {'nbf': float('nan')})}",
        *(f"Bearer {sign(without(name))}" for name in CLAIMS),
        f"Bearer {sign(CLAIMS, typ='JWT')}",
        f"Bearer {sign(CLAIMS, typ='at+jwt')}",
        f"Bearer {sign(CLAIMS | {'iss': 'another service'})}",
        f"Bearer {sign(CLAIMS | {'aud': 'another service'})}",
        f"Bearer {sign(CLAIMS | {'jti': ''})}",
        f"Bearer {sign(CLAIMS | {'jti': 'a' * 65})}",
        f"Bearer {sign(CLAIMS | {'jti': 5})}",
        f"Bearer {sign(CLAIMS | {'iat': 'now'})}",
        f"Bearer {sign(CLAIMS | {'iat': float('inf')})}",
        f"Bearer {sign(CLAIMS | {'speakers': 'Ann'})}",
        f"Bearer {sign(CLAIMS | {'speakers': [5]})}",
        f"Bearer {sign(CLAIMS | {'speakers': ['Ann'] * 21})}",
        f"Bearer {sign(CLAIMS | {'tenant': ''})}",
        f"Bearer {sign(CLAIMS | {'tenant': None})}",
        f"Bearer {sign(CLAIMS | {'tenant': ['acme']})}",
        f"Bearer {sign(CLAIMS | {'tenant': 'a' * 65})}",
        f"Bearer {sign(CLAIMS | {'tenant': 'a/b'})}",
        f"Bearer {sign(CLAIMS | {'agent': ''})}",
        f"Bearer {sign(CLAIMS | {'agent': 5})}",
    ],
)
async def test_without_a_credential_that_holds_there_is_no_entry(
    shared_service: Service, authorization: str | None
) -> None:
    answer = await recall_with(shared_service, authorization)
    problem = assert_problem(answer, 401, "unauthenticated")
    assert problem["detail"] == REFUSED  # whatever is wrong with it
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("scope", ["", "admin", "memories", "memory-admin", ["memory"], 1])
async def test_another_scope_does_not_reach_memories(shared_service: Service, scope: Any) -> None:
    answer = await recall_with(shared_service, f"Bearer {sign(CLAIMS | {'scope': scope})}")
    assert_problem(answer, 403, "forbidden")


@pytest.mark.parametrize("path", ["/store", "/recall"])
async def test_a_credential_for_one_agent_does_not_reach_another(shared_service: Service, path: str) -> None:
    body = {"agent_id": "other", "content" if path == "/store" else "query": "text"}
    answer = await shared_service.post(path, body, agent="bot")
    assert_problem(answer, 403, "forbidden")
    assert await shared_service.recall("text", agent_id="other") == []


async def test_the_caller_is_looked_at_before_the_body(shared_service: Service) -> None:
    client = shared_service.client
    bodies: list[Any] = [{}, {"agent_id": "", "content": ""}, []]
    for body in bodies:
        assert_problem(await client.post("/store", json=body), 401, "unauthenticated")
    json = {"Content-Type": "application/json"}
    for content in ("x", "{", b" " * (1024 * 1024 + 1)):
        assert_problem(await client.post("/store", content=content), 401, "unauthenticated")
        assert_problem(await client.post("/store", content=content, headers=json), 401, "unauthenticated")
    assert_problem(await client.post("/store?tenant=a", json={}), 401, "unauthenticated")


def test_a_credential_holds_from_its_first_to_its_last_moment_however_often_it_is_asked() -> None:
    credentials = Credentials(SECRETS)
    token = sign(CLAIMS | {"nbf": 100, "exp": 200})
    for _ in range(2):
        for now, holds in ((99_999, False), (100_000, True), (199_999, True), (200_000, False)):
            if holds:
                assert credentials.verify(token, now).tenant_id == "acme"
            else:
                with pytest.raises(Unauthenticated):
                    credentials.verify(token, now)


async def test_a_rotated_secret_holds_until_it_is_removed(tmp_path: Path) -> None:
    old, new = {"2025": "the old secret, which is long enough"}, {"2026": "the new secret, which is long enough"}
    async with serving(tmp_path, auth_secrets=old) as service:
        credential = service.credential()
    async with serving(tmp_path, auth_secrets=new | old) as service:
        assert (await service.client.post("/recall", json=BODY, headers=credential)).status_code == 200
        fresh = service.credential()
    async with serving(tmp_path, auth_secrets=new) as service:
        assert (await service.client.post("/recall", json=BODY, headers=fresh)).status_code == 200
        assert_problem(await service.client.post("/recall", json=BODY, headers=credential), 401, "unauthenticated")


async def test_two_authorization_headers_are_no_credential(shared_service: Service) -> None:
    one = shared_service.credential()["Authorization"]
    headers = [("Authorization", one), ("Authorization", one)]
    assert_problem(await shared_service.client.post("/recall", json=BODY, headers=headers), 401, "unauthenticated")
