"""Commands on a database that an older version has made: only ``serve`` and ``migrate`` bring it up to date."""

import sqlite3
from pathlib import Path

from app.bootstrap import DATABASE_FILE
from app.storage.migrations.runner import known_migrations
from tests.interfaces.cli.line import Line

HERE = known_migrations()[-1].name
READS = [
    ("doctor",),
    ("list",),
    ("agents",),
    ("usage",),
    ("recall", "anything"),
    ("export", "-o", "out.ndjson"),
    ("reconcile", "--no-values"),
    ("shard", "list"),
    ("outbox", "list"),
    ("quota", "show", "--tenant", "acme"),
    ("reembed", "status"),
]


def older(folder: Path) -> bytes:
    """Make a database of the version before, and return what its schema is."""
    folder.mkdir(0o700)
    (folder / DATABASE_FILE).touch(0o600)
    connection = sqlite3.connect(folder / DATABASE_FILE)
    with connection:
        connection.execute(
            "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY, name TEXT UNIQUE, applied_at TEXT DEFAULT '')"
        )
        for migration in known_migrations()[:-1]:
            for sql in migration.statements:
                connection.execute(sql)
            connection.execute("INSERT INTO d1_migrations (name) VALUES (?)", [migration.name])
    connection.close()
    return schema(folder)


def schema(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / DATABASE_FILE)
    try:
        rows = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'local_%' ORDER BY name"
        ).fetchall()
        return repr((rows, connection.execute("SELECT name FROM d1_migrations").fetchall())).encode()
    finally:
        connection.close()


def test_a_command_that_reads_changes_no_older_schema_and_says_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    before, line = older(folder), Line(folder)
    for command in READS:
        done = line.run(*command)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False), command
        assert HERE in done.stdout + done.stderr, command
        assert "memory-gateway migrate" in done.stdout + done.stderr, command
        assert schema(folder) == before, command
    assert f"applied {HERE}" in line.ok("migrate")
    line.ok("list")


def test_a_command_makes_the_schema_of_an_empty_folder(tmp_path: Path) -> None:
    assert Line(tmp_path / "new").run("list").returncode == 0
