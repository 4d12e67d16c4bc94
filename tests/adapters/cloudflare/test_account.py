"""The account's control plane: what provisioning asks and creates."""

from typing import Any

import httpx
import pytest
import respx

from app.adapters.cloudflare.account import Account, Placement
from app.adapters.cloudflare.client import CloudflareClient
from app.domain.errors import UpstreamRejected
from tests.adapters.cloudflare.vectors import CONFIG, FILTERABLE, INDEX
from tests.adapters.cloudflare.wire import answer, body_of

DATABASES, INDEXES = "/d1/database", "/vectorize/v2/indexes"


@pytest.fixture
def account(client: CloudflareClient) -> Account:
    return Account(client)


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ([{"name": "memory", "uuid": "u-1"}], "u-1"),
        ([{"name": "memory-test", "uuid": "u-2"}, {"name": "memory", "uuid": "u-1"}], "u-1"),
        ([{"name": "memory-test", "uuid": "u-2"}], None),
        ([], None),
        (None, None),
    ],
)
async def test_a_database_is_known_by_its_exact_name(
    api: respx.MockRouter, account: Account, listed: Any, found: str | None
) -> None:
    route = api.get(DATABASES).mock(return_value=answer(listed))
    assert await account.database_id("memory") == found
    assert dict(route.calls.last.request.url.params) == {"name": "memory", "per_page": "100"}


@pytest.mark.parametrize(
    ("placement", "body"),
    [
        (Placement(), {"name": "memory"}),
        (Placement("weur"), {"name": "memory", "primary_location_hint": "weur"}),
        (Placement("weur", "eu"), {"name": "memory", "primary_location_hint": "weur", "jurisdiction": "eu"}),
    ],
)
async def test_a_database_is_created_where_it_is_to_be(
    api: respx.MockRouter, account: Account, placement: Placement, body: dict[str, str]
) -> None:
    route = api.post(DATABASES).mock(return_value=answer({"uuid": "u-1", "name": "memory"}))
    assert await account.create_database("memory", placement) == "u-1"
    assert body_of(route.calls.last) == body


@pytest.mark.parametrize(
    ("told", "bound"), [({"jurisdiction": "eu"}, "eu"), ({"jurisdiction": None}, None), ({}, None), (None, None)]
)
async def test_the_jurisdiction_of_a_database_is_what_the_account_tells(
    api: respx.MockRouter, account: Account, told: Any, bound: str | None
) -> None:
    api.get(f"{DATABASES}/u-1").mock(return_value=answer(told))
    assert await account.jurisdiction("u-1") == bound


@pytest.mark.parametrize("result", [None, [], {}, {"uuid": ""}, {"uuid": 1}, {"uuid": "u-1\nX=1"}, {"uuid": "../x"}])
async def test_a_database_without_an_id_is_not_believed(api: respx.MockRouter, account: Account, result: Any) -> None:
    api.post(DATABASES).mock(return_value=answer(result))
    with pytest.raises(UpstreamRejected, match="without telling its id"):
        await account.create_database("memory", Placement())


@pytest.mark.parametrize(
    ("listed", "there"),
    [([{"name": CONFIG.index_name}], True), ([{"name": "other"}], False), ([], False), (None, False)],
)
async def test_an_index_is_known_by_its_name(
    api: respx.MockRouter, account: Account, listed: Any, *, there: bool
) -> None:
    api.get(INDEXES).mock(return_value=answer(listed))
    assert await account.index_exists(CONFIG.index_name) is there


@pytest.mark.parametrize("listed", [{"a": 1}, ["memory"], [{"name": "memory"}], 1])
async def test_a_list_that_cannot_be_read_is_an_error_of_the_tree(
    api: respx.MockRouter, account: Account, listed: Any
) -> None:
    api.get(DATABASES).mock(return_value=answer(listed))
    with pytest.raises(UpstreamRejected):
        await account.database_id("memory")


async def test_an_index_is_created_for_cosines_with_its_metadata_indexes(
    api: respx.MockRouter, account: Account
) -> None:
    index = api.post(INDEXES).mock(return_value=httpx.Response(201, json={"success": True, "result": {}}))
    keys = api.post(f"{INDEX}/metadata_index/create").mock(return_value=answer({"mutationId": "m"}))
    await account.create_index(CONFIG)
    await account.create_metadata_indexes(CONFIG.index_name, FILTERABLE)
    body = body_of(index.calls.last)
    assert body["name"] == CONFIG.index_name
    assert body["config"] == {"dimensions": 4, "metric": "cosine"}
    assert [body_of(call) for call in keys.calls] == [
        {"propertyName": key, "indexType": kind} for key, kind in FILTERABLE.items()
    ]
