"""Shards on the stand-in account: where the database of a new one is put, and how a lost index is made again."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.bootstrap import open_database
from tests.interfaces.cli.line import Done, Line
from tests.support import migrated
from tests.support.backends import Backend, running_on
from tests.support.service import settings_for
from tests.support.tables import insert_rows

pytestmark = pytest.mark.cloudflare


@pytest.fixture
def account() -> Iterator[Backend]:
    with running_on("cloudflare") as backend:
        yield backend


def created(account: Backend, folder: Path, name: str, jurisdiction: str | None) -> str:
    """Create a database, and return its id."""
    return account.doubles[folder].double.create_database(name, migrated.image(), jurisdiction=jurisdiction)


def environment(account: Backend, line: Line, first: str | None) -> dict[str, str]:
    """Return the variables of an account whose first database this jurisdiction binds."""
    given = account.settings(line.folder) | {"auth_secrets": "test=a-secret-of-the-tests-long-enough-to-sign"}
    given["cloudflare_d1_database_id"] = created(account, line.folder, "first", first)
    return {name.upper(): str(value) for name, value in given.items() if value != {}}


def add(account: Backend, line: Line, *options: str, first: str | None) -> Done:
    """Add the shard east, where this jurisdiction binds the first database."""
    variables = environment(account, line, first)
    return line.run("shard", "add", "east", "--poll-seconds", "0.02", "--json", *options, **variables)


def called(account: Backend, line: Line, method: str, path: str) -> Any:
    """Return the result of a call of the account."""
    given = account.settings(line.folder)
    headers = {"Authorization": f"Bearer {given['cloudflare_api_token']}"}
    url = f"{given['cloudflare_api_base_url']}/accounts/{given['cloudflare_account_id']}/{path}"
    answer = httpx.request(method, url, headers=headers, trust_env=False, verify=False)
    return answer.raise_for_status().json()["result"]


def database(account: Backend, line: Line, done: Done) -> dict[str, Any]:
    """Return what the account tells of the database of the shard that was added."""
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = called(
        account, line, "GET", f"d1/database/{json.loads(done.stdout)['added']['database_id']}"
    )
    return told


@pytest.mark.parametrize(
    ("first", "options", "bound"),
    [
        (None, (), None),
        ("eu", (), "eu"),
        ("eu", ("--location", "weur"), "eu"),
        ("eu", ("--jurisdiction", "eu"), "eu"),
        (None, ("--jurisdiction", "us"), "us"),
    ],
)
def test_a_shard_is_created_in_the_jurisdiction_that_is_given_or_else_in_that_of_the_first(
    account: Backend, line: Line, first: str | None, options: tuple[str, ...], bound: str | None
) -> None:
    assert database(account, line, add(account, line, *options, first=first))["jurisdiction"] == bound


def test_a_shard_is_created_near_the_region_that_is_given(account: Backend, line: Line) -> None:
    assert add(account, line, "--location", "apac", first=None).returncode == 0
    (body,) = [
        json.loads(request.body)
        for request in account.doubles[line.folder].double.requests()
        if request.operation == "d1.create"
    ]
    assert body == {"name": "memory-gateway-east", "primary_location_hint": "apac"}


def test_a_shard_in_another_jurisdiction_than_the_first_is_refused_before_anything_is_created(
    account: Backend, line: Line
) -> None:
    done = add(account, line, "--jurisdiction", "us", first="eu")
    assert done.returncode == 1
    assert "The first database is bound to the jurisdiction eu." in done.stderr
    assert "d1.create" not in account.doubles[line.folder].double.calls()


@pytest.mark.parametrize(
    ("first", "other", "code"), [("eu", None, 1), ("eu", "us", 1), ("eu", "eu", 0), (None, "us", 0)]
)
def test_a_database_that_is_there_is_taken_if_the_jurisdiction_of_the_first_binds_it(
    account: Backend, line: Line, first: str | None, other: str | None, code: int
) -> None:
    account.settings(line.folder)
    id_ = created(account, line.folder, "other", other)
    done = add(account, line, "--database-id", id_, first=first)
    assert done.returncode == code, done.stderr
    assert code == 0 or "but eu is needed" in done.stderr


def test_a_database_of_an_earlier_try_is_not_taken_for_one_in_the_jurisdiction(account: Backend, line: Line) -> None:
    account.settings(line.folder)
    created(account, line.folder, "memory-gateway-east", None)
    done = add(account, line, "--jurisdiction", "eu", first=None)
    assert done.returncode == 1
    assert "is bound to none, but eu is needed" in done.stderr


async def used(account: Backend, line: Line, id_: str, table: str, row: dict[str, Any]) -> None:
    database, close = await open_database(
        settings_for(line.folder, **(account.settings(line.folder) | {"cloudflare_d1_database_id": id_}))
    )
    try:
        await insert_rows(database, table, row)
    finally:
        await close()


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (("tenant_places", {"tenant_id": "acme", "shard": "main", "epoch": 0}), "holds rows of tenants"),
        (("usage", {"tenant_id": "a", "agent_id": "", "memories": 1, "bytes": 1}), "holds rows of tenants"),
        (("shards", {"name": "west", "added_at": 1}), "belongs to a service already"),
    ],
)
@pytest.mark.parametrize("options", [("--database-id",), ()])
def test_a_database_that_is_in_use_does_not_become_a_shard(
    account: Backend, line: Line, left: tuple[str, dict[str, Any]], said: str, options: tuple[str, ...]
) -> None:
    account.settings(line.folder)
    id_ = created(account, line.folder, "memory-gateway-east", None)
    asyncio.run(used(account, line, id_, *left))
    done = add(account, line, *(each for option in options for each in (option, id_)), first=None)
    assert done.returncode == 1
    assert f"The database {id_} {said}" in done.stderr


def test_a_database_that_a_failed_run_has_left_becomes_the_shard(account: Backend, line: Line) -> None:
    account.settings(line.folder)
    id_ = created(account, line.folder, "memory-gateway-east", None)
    done = add(account, line, first=None)
    assert (done.returncode, json.loads(done.stdout)["added"]["database_id"]) == (0, id_)


def test_a_shard_s_lost_index_is_made_again_by_the_command_that_the_doctor_names(account: Backend, line: Line) -> None:
    variables = environment(account, line, None)
    assert line.run("shard", "add", "east", "--poll-seconds", "0.02", **variables).returncode == 0
    (lost,) = [
        each["name"] for each in called(account, line, "GET", "vectorize/v2/indexes") if each["name"].endswith("east")
    ]
    called(account, line, "DELETE", f"vectorize/v2/indexes/{lost}")
    examined = line.run("doctor", **variables)
    assert examined.returncode == 1
    assert "Run: memory-gateway rebuild --yes" in examined.stdout
    assert line.run("rebuild", "--yes", "--poll-seconds", "0.02", **variables).returncode == 0
    assert line.run("doctor", **variables).returncode == 0
