"""What a service says when it starts: how it reaches its data, what it may call, and which shards there are."""

import re
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.runtime.test_shards_on_cloudflare import add_shard
from tests.support.backends import Backend, running_on
from tests.support.edge import running_edge
from tests.support.service import serving
from tests.support.sharded import add_shards

pytestmark = pytest.mark.thorough

_CALLS = {"cloudflare_calls_per_window": 1_100}
_SHARE = r"\d+ of 1080 in 300 s"


@pytest.fixture
def account() -> Iterator[Backend]:
    with running_on("cloudflare") as backend:
        yield backend


async def said_by(data_dir: Path, **more: Any) -> Sequence[MutableMapping[str, Any]]:
    """Return what a service logs that starts and stops again."""
    with capture_logs() as logs:
        async with serving(data_dir, **more):
            pass
    return logs


def ready(said: Sequence[MutableMapping[str, Any]]) -> dict[str, MutableMapping[str, Any]]:
    """Return what is said of each shard once it is ready, by its name."""
    return {each["shard"]: each for each in said if each["event"] == "ready"}


def shards(said: Sequence[MutableMapping[str, Any]]) -> list[list[str]]:
    return [each["shards"] for each in said if each["event"] == "shards"]


async def test_an_embedded_service_names_its_database_its_index_and_its_one_shard(tmp_path: Path) -> None:
    said = await said_by(tmp_path)
    assert shards(said) == [["main"]]
    (main,) = ready(said).values()
    assert (main["shard"], main["database"], main["index"]) == ("main", "sqlite", "sqlite-exact")
    assert main["cloudflare_calls"] is None


async def test_an_embedded_service_names_both_of_its_shards(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    said = await said_by(tmp_path)
    assert shards(said) == [["main", "east"]]
    assert {name: each["database"] for name, each in ready(said).items()} == {"main": "sqlite", "east": "sqlite"}


async def test_a_service_over_the_rest_api_names_it_its_share_of_the_calls_and_its_one_shard(
    tmp_path: Path, account: Backend
) -> None:
    said = await said_by(tmp_path, on=account, **_CALLS)
    assert shards(said) == [["main"]]
    (main,) = ready(said).values()
    assert (main["database"], main["index"]) == ("cloudflare-d1 (REST)", "cloudflare-vectorize (REST)")
    assert re.fullmatch(_SHARE, main["cloudflare_calls"])


async def test_a_service_over_the_rest_api_names_both_of_its_shards_and_one_share_of_the_calls(
    tmp_path: Path, account: Backend
) -> None:
    await add_shard(account, tmp_path, "east")
    said = await said_by(tmp_path, on=account, **_CALLS)
    assert shards(said) == [["main", "east"]]
    both = ready(said)
    assert {name: (each["database"], each["index"]) for name, each in both.items()} == {
        "main": ("cloudflare-d1 (REST)", "cloudflare-vectorize (REST)"),
        "east": ("cloudflare-d1 (REST)", "cloudflare-vectorize (REST)"),
    }
    assert re.fullmatch(_SHARE, both["main"]["cloudflare_calls"])
    assert both["east"]["cloudflare_calls"] is None  # they are counted for the process, not for each shard


async def test_a_service_behind_an_edge_worker_names_it_and_says_that_no_calls_are_counted(tmp_path: Path) -> None:
    with running_edge(tmp_path) as edge:
        said = await said_by(tmp_path, **edge.settings())
    assert shards(said) == [["main"]]
    (main,) = ready(said).values()
    assert (main["database"], main["index"]) == ("cloudflare-d1 (edge)", "cloudflare-vectorize (edge)")
    assert main["cloudflare_calls"] == "not counted"


async def test_a_shard_that_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    await add_shards(tmp_path, ["east"])
    (tmp_path / "shards" / "east.sqlite3").unlink()
    said = await said_by(tmp_path)
    assert list(ready(said)) == ["main"]
    (failed,) = [each for each in said if each["event"] == "shard_failed"]
    assert (failed["shard"], failed["log_level"]) == ("east", "error")
    assert failed["reason"] == "The file shards/east.sqlite3 of DATA_DIR is missing or empty."
