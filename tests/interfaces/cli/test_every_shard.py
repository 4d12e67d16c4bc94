"""The commands that compare, rebuild and re-embed do so in every shard."""

import asyncio
import json
from typing import Any

import pytest

from app.bootstrap import DATABASE_FILE, shard_file
from tests.interfaces.cli.line import Line
from tests.support.damage import lose_index
from tests.support.service import settings_for
from tests.support.sharded import backdate
from tests.support.tables import at_rest

pytestmark = pytest.mark.thorough

_CONTENTS = {"acme": "a fox in the snow", "globex": "a bear in the wood"}
"""By tenants, of which the second lives in the second shard."""
_MODEL = {"EMBEDDER": "local"}


@pytest.fixture
def sharded(line: Line) -> Line:
    """A line with two shards, and in each a tenant with one memory."""
    for tenant, content in _CONTENTS.items():
        line.ok("store", content, "--tenant", tenant)
    line.ok("shard", "add", "east")
    asyncio.run(backdate(line.folder / "data"))
    moved = line.run("shard", "move", "globex", "east", "--linger-seconds", "0", "--poll-seconds", "0")
    assert moved.returncode == 0, moved.stderr
    assert [each["vectors"] for each in line.json("shard", "list")["shards"]] == [1, 1]
    return line


def found(line: Line, **environment: str) -> dict[str, str]:
    """What a recall of each tenant's memory finds first."""
    contents: dict[str, str] = {}
    for tenant, content in _CONTENTS.items():
        recalled = json.loads(line.run("recall", content, "--tenant", tenant, "--json", **environment).stdout)
        contents[tenant] = recalled["entries"][0]["content"]
    return contents


def answer_of_each(line: Line, *arguments: str) -> dict[str, Any]:
    """Run a command that answers for each shard, and return its answers by the shards' names."""
    done = line.run(*arguments, "--json", **_MODEL)
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)["shards"]
    return answers


def lose_the_index(line: Line) -> None:
    data = line.folder / "data"
    for file in (data / DATABASE_FILE, shard_file(settings_for(data), "east")):
        at_rest(file, lose_index)


def compared(line: Line, *options: str) -> dict[str, Any]:
    findings: dict[str, Any] = json.loads(line.run("reconcile", "--json", *options).stdout)
    return findings


def test_a_comparison_finds_and_on_request_repairs_what_is_missing_in_every_shard(sharded: Line) -> None:
    lose_the_index(sharded)
    told = sharded.run("reconcile").stderr.splitlines()
    assert [each for each in told if "shard" in each] == ["... shard main", "... shard east"]
    findings = compared(sharded)
    assert (findings["walked"], findings["missing"]) == (2, 2)
    assert compared(sharded, "--repair")["repaired"] == 2
    assert compared(sharded)["missing"] == 0


def test_a_rebuild_makes_the_lost_index_of_every_shard_again(sharded: Line) -> None:
    lose_the_index(sharded)
    assert json.loads(sharded.run("rebuild", "--yes", "--json").stdout)["repaired"] == 2
    assert compared(sharded)["missing"] == 0
    assert found(sharded) == _CONTENTS


def test_every_shard_moves_to_another_model(sharded: Line) -> None:
    started = answer_of_each(sharded, "reembed", "start")
    assert {name: each["complete"] for name, each in started.items()} == {"main": True, "east": True}
    old, new = started["main"]["used"], started["main"]["other"]
    switched = answer_of_each(sharded, "reembed", "switch", "--force")
    assert {name: each["used"] for name, each in switched.items()} == {"main": new, "east": new}
    dropped = answer_of_each(sharded, "reembed", "drop", "--yes")
    assert {name: each["dropped"] for name, each in dropped.items()} == {"main": old, "east": old}
    assert found(sharded, **_MODEL) == _CONTENTS
