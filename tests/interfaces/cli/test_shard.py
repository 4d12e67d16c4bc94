"""The commands for shards, and the others where there are several."""

import asyncio
import json
import re
from functools import partial
from pathlib import Path
from shutil import copyfile

import pytest

from app.adapters.local.sqlite_database import SqliteDatabase
from app.adapters.local.sqlite_file import SqliteFile
from app.bootstrap import DATABASE_FILE, open_database, shard_file
from app.domain.shards import Place
from app.storage.migrations.runner import migrate
from app.storage.system.moving import Mover
from tests.interfaces.cli.line import Line, misused
from tests.support.damage import drop_table
from tests.support.service import settings_for
from tests.support.sharded import backdate
from tests.support.tables import at_rest, insert_rows, shift_rows

pytestmark = pytest.mark.thorough

_MOVE = ("--linger-seconds", "0", "--poll-seconds", "0")


@pytest.fixture
def sharded(line: Line) -> Line:
    """A line with a tenant that lives in the first shard, and a second shard that every process knows of."""
    line.run("store", "a fox", "--tenant", "acme")
    line.run("shard", "add", "east")
    asyncio.run(backdate(line.folder / "data"))
    return line


def shards(line: Line) -> dict[str, int]:
    return {each["name"]: each["vectors"] for each in line.json("shard", "list")["shards"]}


def test_a_shard_is_added_and_listed(line: Line) -> None:
    assert line.json("shard", "add", "east") == {"added": {"name": "east", "database_id": None}}
    assert shards(line) == {"main": 0, "east": 0}


async def _migrated(path: Path) -> None:
    """Make a database as a ``shard add`` leaves it that ended before the shard was in the directory."""
    file = SqliteFile(path)
    try:
        await migrate(SqliteDatabase(file))
    finally:
        await file.close()


def test_a_file_that_a_failed_run_has_left_becomes_the_shard(line: Line) -> None:
    line.run("store", "a fox", "--tenant", "acme")
    asyncio.run(_migrated(shard_file(settings_for(line.folder / "data"), "east")))
    assert line.run("shard", "add", "east").returncode == 0


def test_a_file_with_memories_of_another_deployment_does_not_become_a_shard(line: Line) -> None:
    line.run("store", "their secret", "--tenant", "acme", DATA_DIR=str(line.folder / "theirs"))
    line.run("store", "a fox", "--tenant", "globex")
    path = shard_file(settings_for(line.folder / "data"), "old")
    copyfile(line.folder / "theirs" / DATABASE_FILE, path)
    before = path.read_bytes()
    assert f"The file {path} holds rows of tenants already" in line.fails("shard", "add", "old")
    assert path.read_bytes() == before
    assert shards(line).keys() == {"main"}


def test_a_file_on_which_a_service_has_started_does_not_become_a_shard(line: Line) -> None:
    line.run("store", "a fox", "--tenant", "globex")
    line.run("shard", "list", DATA_DIR=str(line.folder / "theirs"))
    path = shard_file(settings_for(line.folder / "data"), "old")
    copyfile(line.folder / "theirs" / DATABASE_FILE, path)
    assert f"The file {path} belongs to a service already" in line.fails("shard", "add", "old")


def test_a_file_that_is_no_database_is_named(line: Line) -> None:
    line.run("store", "a fox", "--tenant", "acme")
    path = shard_file(settings_for(line.folder / "data"), "stale")
    path.write_bytes(b"no database" * 500)
    assert f"(file is not a database) The file is {path}." in line.fails("shard", "add", "stale")


def _without_sizes(listed: str) -> list[str]:
    return [re.sub(r"\d+\.\d (MB|%)", r"0.0 \1", each) for each in listed.splitlines()]


def test_one_shard_is_listed_as_the_home_of_all_tenants(line: Line) -> None:
    (listed,) = _without_sizes(line.ok("shard", "list"))
    assert listed == ("main holds 0.0 MB and 0 vectors. All tenants live in it.")


def test_each_shard_is_listed_with_its_size_and_its_tenants(sharded: Line) -> None:
    sharded.run("shard", "move", "acme", "east", *_MOVE)
    main, east = _without_sizes(sharded.ok("shard", "list"))
    assert main == (
        "main holds 0.0 MB and 0 vectors. "
        "It has 0 tenants that came after the first shard was added, and all that are older and were not moved."
    )
    assert east == ("east holds 0.0 MB and 1 vector. It has 1 tenant.")


def test_a_shard_that_cannot_be_used_is_listed_as_one(sharded: Line) -> None:
    shard_file(settings_for(sharded.folder / "data"), "east").unlink()
    main, east = sharded.run("shard", "list").stdout.splitlines()
    assert main.startswith("main holds")
    assert east == "east cannot be used, and was not measured. See: memory-gateway doctor"
    listed = json.loads(sharded.run("shard", "list", "--json").stdout)
    assert ([each["name"] for each in listed["shards"]], listed["unmeasured"]) == (["main"], ["east"])


def test_each_step_of_a_move_is_told(sharded: Line) -> None:
    told = sharded.run("shard", "move", "acme", "east", *_MOVE).stderr.splitlines()
    assert "... copied the rows of long_term_memory" in told
    assert told[-3:] == [
        "... compared all rows",
        "... east serves the tenant now; its old rows are deleted in a while",
        "... deleted the old rows",
    ]


def test_a_tenant_is_moved_and_its_memories_with_it(sharded: Line) -> None:
    done = sharded.run("shard", "move", "acme", "east", *_MOVE)
    assert (done.returncode, done.stdout) == (0, "acme lives in east now.\n")
    assert shards(sharded) == {"main": 0, "east": 1}
    assert "a fox" in sharded.ok("recall", "fox", "--tenant", "acme")
    assert sharded.run("shard", "move", "acme", "main", *_MOVE).returncode == 0
    assert shards(sharded) == {"main": 1, "east": 0}
    assert "a fox" in sharded.ok("recall", "fox", "--tenant", "acme")


def test_moves_that_have_not_ended_are_listed_with_their_age(sharded: Line) -> None:
    assert sharded.json("shard", "list")["moves"] == []
    asyncio.run(_begin_move(sharded.folder / "data"))
    (move,) = sharded.json("shard", "list")["moves"]
    assert move.pop("idle_seconds") >= 7_200
    assert move == {"tenant": "acme", "source": "main", "target": "east", "phase": "copy"}
    listed = sharded.ok("shard", "list")
    assert "acme lives in main and is to move to east. A command last worked on the move 120 minutes ago." in listed
    assert "If none does now, go on with: memory-gateway shard move acme east" in listed
    assert "Or give the move up with: memory-gateway shard move acme main" in listed
    assert sharded.run("shard", "move", "acme", "east", *_MOVE).returncode == 0
    assert sharded.json("shard", "list")["moves"] == []


def test_a_move_that_is_given_up_is_told_as_one(sharded: Line) -> None:
    asyncio.run(_begin_move(sharded.folder / "data"))
    done = sharded.run("shard", "move", "acme", "main", *_MOVE)
    assert (done.returncode, done.stdout) == (0, "The move to east was given up. acme stays in main.\n")
    asyncio.run(_begin_move(sharded.folder / "data"))
    given_up = json.loads(sharded.run("shard", "move", "acme", "main", "--json", *_MOVE).stdout)
    assert given_up == {"given_up": {"tenant": "acme", "shard": "main", "target": "east"}}


def test_a_move_that_another_command_is_at_says_when_to_try_again(sharded: Line) -> None:
    asyncio.run(_begin_move(sharded.folder / "data", seconds_ago=18))
    said = sharded.fails("shard", "move", "acme", "east", *_MOVE)
    assert "Another command is moving this tenant, or was until less than a minute ago." in said
    left = re.search(r"If it has stopped, try again in (\d+) seconds\.", said)
    assert left is not None
    assert int(left[1]) <= 43


async def _begin_move(data_dir: Path, *, seconds_ago: int = 7200) -> None:
    """Do what a mover does first, so long ago."""
    database, close = await open_database(settings_for(data_dir))
    try:
        await database.run([Mover("acme", "0").lease("main", Place("east", 1))])
        await shift_rows(database, "tenant_moves", {"leased_until": -1000 * seconds_ago})
    finally:
        await close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "East"), "lower-case letter"),
        (("add", "main"), "There is a shard main already."),
        (("add", "east"), "There is a shard east already."),
        (("add", "west", "--database-id", "abc"), "--database-id is for shards on Cloudflare"),
        (("add", "west", "--jurisdiction", "eu"), "--location and --jurisdiction are for shards on Cloudflare"),
        (("add", "west", "--location", "weur"), "--location and --jurisdiction are for shards on Cloudflare"),
        (("move", "acme", "main"), "lives in the shard main already"),
        (("move", "acme", "west"), "There is no shard west. There are: main, east."),
        (("move", "nobody", "east"), "There is no tenant nobody."),
    ],
)
def test_what_cannot_be_done_is_refused(sharded: Line, arguments: tuple[str, ...], said: str) -> None:
    assert said in sharded.fails("shard", *arguments)


def test_a_tenant_whose_shard_is_not_in_the_directory_is_refused_and_the_others_are_served(sharded: Line) -> None:
    place = {"tenant_id": "lost", "shard": "west", "epoch": 1}
    at_rest(sharded.folder / "data" / DATABASE_FILE, lambda database: insert_rows(database, "tenant_places", place))
    said = "The shard west, where the tenant lives, is not in the directory."
    assert said in sharded.fails("recall", "fox", "--tenant", "lost")
    assert said in sharded.fails("store", "a fox", "--tenant", "lost")
    assert said in sharded.fails("shard", "move", "lost", "east", *_MOVE)
    assert "a fox" in sharded.ok("recall", "fox", "--tenant", "acme")
    assert sharded.json("shard", "list")["moves"] == []


@pytest.mark.parametrize("place", [("--jurisdiction", "eu"), ("--location", "weur")])
def test_a_database_that_is_there_is_not_put_elsewhere(place: tuple[str, str]) -> None:
    assert "leave --location and --jurisdiction out" in misused("shard", "add", "west", "--database-id", "abc", *place)


def test_a_shard_takes_nobody_before_every_process_knows_of_it(line: Line) -> None:
    line.run("store", "a fox", "--tenant", "acme")
    line.run("shard", "add", "east")
    assert "Try again in" in line.fails("shard", "move", "acme", "east")
    assert "lives in the shard main already" in line.fails("shard", "move", "acme", "main")
    assert "There is no tenant nobody." in line.fails("shard", "move", "nobody", "east")


def test_the_doctor_fails_where_a_shard_is_missing_and_examines_the_rest(sharded: Line) -> None:
    assert sharded.run("doctor").returncode == 0
    shard_file(settings_for(sharded.folder / "data"), "east").unlink()
    done = sharded.run("doctor", "--json")
    assert done.returncode == 1
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert [name for name, check in checks.items() if not check["ok"]] == ["shard east"]
    assert "Its tenants are refused" in checks["shard east"]["finding"]
    assert checks["store, recall, delete"]["ok"]


def test_commands_that_walk_over_tenants_do_so_in_every_shard(sharded: Line) -> None:
    sharded.run("shard", "move", "acme", "east", *_MOVE)
    sharded.run("store", "a bear", "--tenant", "globex", "--expires-in", "1s")
    done = sharded.run("prune")
    assert done.stderr.count("... shard ") == 2
    assert sharded.run("reconcile").stderr.count("... shard ") == 2
    assert sharded.json("migrate") == {"applied": []}
    assert sharded.json("quota", "set", "--tenant", "acme", "--memories", "7")["limits"]["memories"] == 7
    assert sharded.json("usage", "--tenant", "acme")["tenant"]["limits"]["memories"] == 7
    assert "There is nothing to do in any shard" in sharded.fails("reembed", "status")


def test_a_shard_that_is_missing_is_named_and_the_others_are_pruned(line: Line) -> None:
    line.run("shard", "add", "east")
    line.run("shard", "add", "west")
    shard_file(settings_for(line.folder / "data"), "east").unlink()
    done = line.run("prune", "--json")
    assert (done.returncode, json.loads(done.stdout)["pruned"]) == (1, 0)
    assert [told for told in done.stderr.splitlines() if told.startswith("...")] == [
        f"... shard {name}" for name in ("main", "east", "west")
    ]
    said = "Error: The shard east cannot be used: The file shards/east.sqlite3 of DATA_DIR is missing or empty."
    assert f"{said} The others were pruned." in done.stderr
    assert said in line.fails("outbox", "list")
    assert said in line.fails("migrate")


def test_a_shard_with_a_schema_that_does_not_fit_is_named_and_the_others_are_pruned(line: Line) -> None:
    line.run("shard", "add", "east")
    line.run("shard", "add", "west")
    at_rest(shard_file(settings_for(line.folder / "data"), "east"), partial(drop_table, table="audit"))
    done = line.run("prune")
    assert done.returncode == 1
    assert "... shard west" in done.stderr
    assert "Error: The shard east cannot be used: The database refused a statement" in done.stderr
