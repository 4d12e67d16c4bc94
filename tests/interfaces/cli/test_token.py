"""The commands that mint, list and revoke credentials, and what they do where the database is not there."""

import json
from pathlib import Path

import pytest

from app.bootstrap.files import DATABASE_FILE
from app.domain import limits
from tests.interfaces.cli.line import Line
from tests.support.tables import at_rest, insert_rows

UNKNOWN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


def ids(line: Line, *options: str) -> list[str]:
    return [each.split("  ")[0] for each in line.ok("token", "list", *options).splitlines()]


def test_what_a_command_mints_is_listed_newest_first_with_what_it_may_do(line: Line) -> None:
    first = line.json("token", "--agent", "bot", "--scope", "read", "--expires", "1h", "--speaker", "Ann")
    second = line.json("token", "--admin", "--for-ever", "--requests-per-minute", "60")
    assert (first["recorded"], second["recorded"], second["expires_at"]) == (True, True, None)
    newer, older = sorted([first["id"], second["id"]], reverse=True)
    assert ids(line) == [newer, older]
    told = {each.split("  ")[0]: each for each in line.ok("token", "list").splitlines()}
    assert "  read  agent bot  minted 20" in told[first["id"]]
    assert "  used never  until 20" in told[first["id"]]
    assert "  read+write+admin  all agents  " in told[second["id"]]
    assert " by command  used never" in told[second["id"]]
    every = map(json.loads, line.ok("token", "list", "--json").splitlines())
    (shown,) = [each for each in every if each["id"] == first["id"]]
    assert {name: shown[name] for name in ("agent_id", "scopes", "speakers", "channel")} == {
        "agent_id": "bot",
        "scopes": ["read"],
        "speakers": ["ann"],
        "channel": "command",
    }


def test_no_listing_shows_a_token(line: Line) -> None:
    minted = line.json("token")["token"]
    for form in ([], ["--json"]):
        assert minted.rpartition(".")[2] not in line.ok("token", "list", *form)


def test_a_listing_is_of_one_tenant_and_agent_and_says_where_there_are_more(line: Line) -> None:
    assert line.ok("token", "list") == "nothing found\n"
    mine = [line.json("token", "--tenant", "acme", "--agent", "bot")["id"] for _ in range(3)]
    other = line.json("token", "--tenant", "acme")["id"]
    assert ids(line, "--tenant", "globex") == ["nothing found"]
    assert sorted(ids(line, "--tenant", "acme")) == sorted([*mine, other])
    assert sorted(ids(line, "--tenant", "acme", "--agent", "bot")) == sorted(mine)
    cut = line.run("token", "list", "--tenant", "acme", "--limit", "2")
    assert (cut.returncode, len(cut.stdout.splitlines())) == (0, 2)
    assert "more than 2" in cut.stderr


def test_a_revoked_credential_is_listed_as_revoked_and_an_unknown_one_is_told_of(line: Line) -> None:
    minted = line.json("token")["id"]
    done = line.run("token", "revoke", minted, "--tenant", "default")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  revoked 20" in line.ok("token", "list")
    done = line.run("token", "revoke", UNKNOWN, "--tenant", "default")
    assert (done.returncode, done.stdout) == (0, "Revoked. Within 30 seconds every replica refuses it.\n")
    assert "is it the right one?" in done.stderr


def test_what_was_issued_before_a_moment_is_listed_as_revoked(line: Line) -> None:
    line.ok("token")
    line.ok("token", "revoke", "--tenant", "default", "--issued-before", "2026-01-01T00:00:00Z")
    assert "  revoked " not in line.ok("token", "list")


def test_without_a_database_a_credential_is_minted_and_no_database_is_made(tmp_path: Path) -> None:
    line = Line(tmp_path / "data")
    line.environment["AUTH_SECRETS"] = "one=hdnc71kdm29xjq0vbe83mzp5wtr64uys"
    done = line.run("token")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(".") == 2
    assert line.json("token")["recorded"] is False
    assert not (tmp_path / "data").exists()


def test_a_database_that_cannot_be_read_keeps_nobody_from_minting(line: Line) -> None:
    (line.folder / "data" / "memory.sqlite3").write_bytes(b"no database at all" * 100)
    done = line.run("token")
    assert (done.returncode, done.stdout.count(".")) == (0, 2)
    assert "It is listed once it is used: " in done.stderr


def test_an_account_that_cannot_be_reached_keeps_nobody_from_minting(tmp_path: Path) -> None:
    line = Line(tmp_path / "data")
    line.environment |= {
        "AUTH_SECRETS": "one=hdnc71kdm29xjq0vbe83mzp5wtr64uys",
        "CLOUDFLARE_ACCOUNT_ID": "a" * 32,
        "CLOUDFLARE_API_TOKEN": "token",
        "CLOUDFLARE_D1_DATABASE_ID": "01234567-89ab-cdef-0123-456789abcdef",
        "CLOUDFLARE_API_BASE_URL": "http://127.0.0.1:9/client/v4",
    }
    done = line.run("token")
    assert (done.returncode, done.stdout.count(".")) == (0, 2), done.stderr
    assert "It is listed once it is used: " in done.stderr


def test_a_full_register_keeps_nobody_from_minting(line: Line) -> None:
    row = {"tenant_id": "default", "scopes": '["read"]', "minted_at": 1}
    rows = ({**row, "id": f"c-{number}"} for number in range(limits.MAX_CREDENTIALS))
    at_rest(
        Path(line.environment["DATA_DIR"]) / DATABASE_FILE, lambda database: insert_rows(database, "credential", *rows)
    )
    done = line.run("token")
    assert (done.returncode, done.stdout.count(".")) == (0, 2)
    assert "the register of the tenant is full" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--scope", "delete"],
        ["--requests-per-minute", "0"],
        ["--requests-per-minute", "many"],
        ["--speaker", "x" * 101],
        [word for number in range(21) for word in ("--speaker", str(number))],
    ],
)
def test_what_cannot_be_minted_is_refused(line: Line, options: list[str]) -> None:
    done = line.run("token", *options)
    assert done.returncode != 0
    assert done.stdout == ""
