"""Cloudflare's own command line works on the double, and with it on our migrations."""

import json
import re
import shlex
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from app.ports.database import Database, Row, Statement
from app.storage.migrations import runner
from app.storage.migrations.runner import SCHEMA, applied_migrations, known_migrations, migrate
from memory_gateway_double.server import Handle
from tests.conformance.wrangler import Wrangler
from tests.contracts.conftest import d1_database
from tests.deploy.commands import shell_lines
from tests.support.schema_text import READ, objects

DEPLOY = Path(__file__).parents[2] / "deploy" / "README.md"
MIGRATIONS = Path(runner.__file__).parent / "before"
NAMES = sorted(file.name for file in MIGRATIONS.glob("*.sql"))
LATER = [migration.name for migration in known_migrations() if migration.name not in NAMES]
BOOKKEEPING = Statement("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('d1_migrations')")


@pytest.fixture
def wrangler(tmp_path: Path, double: Handle) -> Wrangler:
    return Wrangler(tmp_path, double)


def configured(wrangler: Wrangler, database_id: str) -> None:
    database = {
        "binding": "DB",
        "database_name": "memory-gateway",
        "database_id": database_id,
        "migrations_dir": str(MIGRATIONS),
    }
    wrangler.configure(d1_databases=[database])


async def schema(database: Database) -> tuple[dict[str, list[tuple[str, str, str]]], list[Row]]:
    made, bookkeeping = await database.run([Statement(READ), BOOKKEEPING])
    tables = objects(made)
    del tables["d1_migrations"]  # each has its own text of it
    return tables, bookkeeping


async def test_wranglers_migrations_and_ours_leave_the_same_schema(
    wrangler: Wrangler, double: Handle, database: Database
) -> None:
    by_wrangler, by_us = (double.double.create_database(f"wrangler-{uuid4()}") for _ in range(2))
    configured(wrangler, by_wrangler)
    wrangler.ok("d1", "migrations", "apply", "memory-gateway", "--remote")
    async with d1_database(double, by_wrangler) as theirs, d1_database(double, by_us) as ours:
        assert await applied_migrations(theirs) == NAMES
        assert await migrate(theirs) == LATER
        assert await migrate(ours) == await migrate(database) == [SCHEMA]
        assert await schema(theirs) == await schema(ours) == await schema(database)
        assert await applied_migrations(theirs) == await applied_migrations(ours) == [*NAMES, *LATER]


async def test_either_goes_on_where_the_other_stopped(wrangler: Wrangler, double: Handle) -> None:
    database_id = double.double.create_database(f"wrangler-{uuid4()}")
    configured(wrangler, database_id)
    async with d1_database(double, database_id) as database:
        first = known_migrations()[0]
        await migrate(database, [first])
        assert first.name not in wrangler.ok("d1", "migrations", "list", "memory-gateway", "--remote")
        wrangler.ok("d1", "migrations", "apply", "memory-gateway", "--remote")
        assert await applied_migrations(database) == NAMES
        assert await migrate(database) == LATER
        assert "No migrations to apply" in wrangler.ok("d1", "migrations", "list", "memory-gateway", "--remote")


def test_an_index_is_created_filled_read_and_asked(wrangler: Wrangler) -> None:
    name = f"wrangler-{uuid4()}"
    created = wrangler.json("vectorize", "create", name, "--dimensions", "32", "--metric", "cosine")
    assert (created["name"], created["config"]) == (name, {"dimensions": 32, "metric": "cosine"})
    wrangler.ok("vectorize", "create-metadata-index", name, "--property-name", "tenant", "--type", "string")
    vectors = [
        {"id": "a", "values": [1] + [0] * 31, "metadata": {"tenant": "acme"}},
        {"id": "b", "values": [0, 1] + [0] * 30},
    ]
    (wrangler.folder / "vectors.ndjson").write_text("".join(f"{json.dumps(vector)}\n" for vector in vectors))
    assert wrangler.json("vectorize", "upsert", name, "--file", "vectors.ndjson")["count"] == 2
    info = wrangler.json("vectorize", "info", name)
    assert (info["dimensions"], info["vectorCount"]) == (32, 2)
    assert printed(wrangler.ok("vectorize", "get-vectors", name, "--ids", "b")) == [vectors[1]]
    vector = [str(value) for value in (1, *[0] * 31)]
    found = printed(wrangler.ok("vectorize", "query", name, "--vector", *vector, "--filter", '{"tenant": "acme"}'))
    assert [(match["id"], round(match["score"], 1)) for match in found["matches"]] == [("a", 1)]


def printed(output: str) -> Any:
    """Return the JSON after the lines meant for people."""
    start = re.search(r"^[\[{]", output, re.MULTILINE)
    assert start is not None, output
    return json.loads(output[start.start() :])


def test_wrangler_has_every_command_and_option_that_an_operator_is_told_to_use(wrangler: Wrangler) -> None:
    told = [line for line in shell_lines(DEPLOY.read_text("utf-8")) if line.startswith("npx wrangler d1 ")]
    assert told
    for line in told:
        words = shlex.split(line)[2:]
        options = [word for word in words if word.startswith("--")]
        shown = wrangler.ok(*words[:3], "--help")
        assert f"wrangler {' '.join(words[:3])} " in shown
        assert [option for option in options if option not in shown] == [], line
