"""Administrative acts of commands: each leaves a row before it is done, and three commands read them."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jwt
import pytest

from app.domain.acts import ACTS
from app.domain.errors import DatabaseUnavailable
from app.interfaces.cli import cli
from app.interfaces.cli.acting import operator
from app.storage.acts import ActRows
from tests.interfaces.cli.line import Line
from tests.support.sharded import add_shards

ID = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
NO_ACT = {
    **dict.fromkeys(["serve", "mcp", "doctor"], "they serve, or look"),
    **dict.fromkeys(["store", "recall", "list", "get", "agents", "usage", "hook"], "agents and their owners do it"),
    "eval": "it tells a published set to a service in a folder of its own",
    "convert": "it installs a model, and touches no data",
    **dict.fromkeys(["acts list", "acts verify", "archive list", "outbox list", "shard list"], "they list or look"),
    **dict.fromkeys(
        ["snapshot list", "snapshot verify", "quota show", "verify", "canary probe", "token list"], "they list or look"
    ),
    **dict.fromkeys(
        ["reembed status", "reembed parity", "golden run", "golden list"], "they compare, and switch nothing"
    ),
    **dict.fromkeys(
        ["provision", "deploy cloudflare", "deploy cloudflare destroy"],
        "there may be no database, before or after; the account of Cloudflare has an audit log of its own",
    ),
}
"""The commands that do no administrative act, and why not."""
GIVEN: dict[str, list[str]] = {
    "change": [ID, "--metadata", '{"k": 1}'],
    "purge": ["--confirm", "1"],
    "archive get": [ID],
    "archive restore": [ID],
    "backup": ["copies"],
    "delete": [ID],
    "export": ["-o", "out.ndjson"],
    "golden keep": ["golden.jsonl"],
    "golden remove": ["--yes"],
    "import": ["in.ndjson"],
    "outbox drop": ["--all", "--yes"],
    "outbox retry": ["--all"],
    "quota set": ["--memories", "10"],
    "rebuild": ["--yes"],
    "reconcile": ["--repair", "--no-values"],
    "reembed drop": ["--yes"],
    "canary remove": ["--yes"],
    "shard add": ["east"],
    "shard move": ["default", "east", "--linger-seconds", "0"],
    "snapshot restore": [ID],
    "token revoke": [ID, "--tenant", "default"],
    "token undo": [ID, "--tenant", "default", "--yes"],
}
QUICK = {"delete", "prune"}
LONG = {"canary plant", "canary remove", "shard move"}
"""Commands that take more than half a second, which their own tests run."""


@pytest.fixture
def line(tmp_path: Path) -> Line:
    return Line(tmp_path / "data")


def commands(group: click.Group = cli, *path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something by itself, by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join([*path, name]), command


def act_of(command: click.Command) -> str | None:
    return getattr(command.callback, "act", None)


def rows(line: Line, *arguments: str) -> list[dict[str, Any]]:
    acts: list[dict[str, Any]] = line_json(line, "acts", "list", "--limit", "1000", *arguments)["acts"]
    return acts


def line_json(line: Line, *arguments: str) -> Any:
    return json.loads(line.run(*arguments, "--json").stdout)


def test_every_command_declares_its_act_or_is_known_to_do_none() -> None:
    found = {name: act_of(command) for name, command in commands()}
    assert {name for name, act in found.items() if act is None} - {"double", *NO_ACT} == set()
    assert {act for act in found.values() if act is not None} <= set(ACTS)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.thorough)
        for name, command in commands()
        if act_of(command) and name not in LONG
    ],
)
def test_a_command_that_declares_an_act_leaves_its_row_however_it_ends(line: Line, name: str) -> None:
    line.ok("store", "a fox")
    (line.folder / "in.ndjson").write_text("{}\n")
    (line.folder / "golden.jsonl").write_text("{}\n")
    line.run(*name.split(), *GIVEN.get(name, []))
    found = [(act["act"], act["operator"], act["channel"]) for act in [*rows(line), *rows(line, "--deployment")]]
    declared = "consolidation.run" if name == "consolidate" else act_of(dict(commands())[name])
    assert found == [(declared, operator(), "command")]
    assert line_json(line, "acts", "verify")["flaws"] == line_json(line, "acts", "verify", "--deployment")["flaws"] == 0


def test_a_command_that_only_looks_or_asks_whether_it_may_leaves_no_row(line: Line) -> None:
    memory_id = line.json("store", "a fox")["id"]
    line.ok("get", memory_id)
    line.ok("quota", "show")
    line.run("reconcile")
    line.ok("consolidate", "--dry-run")
    line.ok("token", "undo", ID, "--tenant", "default")
    line.fails("outbox", "drop", "--all", code=2)
    line.fails("reembed", "drop", code=2)
    assert rows(line) == rows(line, "--deployment") == []


def test_an_act_whose_row_cannot_be_written_is_not_done(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    memory_id = line.json("store", "a fox")["id"]

    def begin(*_: object) -> None:
        raise DatabaseUnavailable("It does not answer.")

    with monkeypatch.context() as patched:
        patched.setattr(ActRows, "begin", begin)
        assert "It does not answer." in line.fails("delete", memory_id)
        assert "It does not answer." in line.fails("export", "-o", "out.ndjson")
    assert not (line.folder / "out.ndjson").exists()
    assert line.json("get", memory_id)["content"] == "a fox"


def test_a_credential_is_minted_without_its_row_since_who_has_the_secret_can_do_so_anyway(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.ok("store", "a fox")

    def begin(*_: object) -> None:
        raise DatabaseUnavailable("It does not answer.")

    minted = line.json("token")
    with monkeypatch.context() as patched:
        patched.setattr(ActRows, "begin", begin)
        done = line.run("token")
    assert (done.returncode, "credential.mint leaves no row: It does not answer." in done.stderr) == (0, True)
    (act,) = rows(line)
    assert (act["act"], act["subject"]) == ("credential.mint", {"id": minted["id"]})


def test_the_row_tells_how_it_ended_and_how_much_it_concerned(line: Line) -> None:
    line.ok("store", "a fox")
    line.run("export", "-o", "out.ndjson")
    line.fails("delete", ID)
    line.ok("quota", "set", "--memories", "10", "--bytes", "unlimited")
    quota, deleted, exported = rows(line)
    assert (exported["act"], exported["counts"], exported["outcome"]) == ("memories.export", {"memories": 1}, "done")
    assert (deleted["outcome"], deleted["code"]) == ("failed", "not_found")
    assert deleted["subject"] == {"agent_id": "default", "memory_id": ID}
    assert quota["counts"]["memories"] == 10
    assert [act["number"] for act in rows(line, "--outcome", "failed")] == [2]
    assert [act["number"] for act in rows(line, "--act", "quota.set")] == [3]
    assert rows(line, "--credential", "nobody") == []


def test_a_token_that_is_named_is_not_kept(line: Line) -> None:
    line.ok("store", "a fox")
    token = line.ok("token").strip()
    line.ok("token", "revoke", token, "--tenant", "default")
    acts = rows(line, "--act", "credential.revoke")
    assert len(acts) == 1
    assert token not in json.dumps(acts)
    assert acts[0]["subject"]["credential_id"] in {None, json_id(token)}


def json_id(token: str) -> str:
    return str(jwt.decode(token, options={"verify_signature": False})["jti"])


def test_the_author_of_a_command_of_root_names_who_used_sudo(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 0)
    line.ok("store", "a fox")
    line.ok("quota", "clear", SUDO_USER="ann")
    line.ok("quota", "clear", SUDO_USER="an odd name; or 1=1")
    assert [act["operator"] for act in rows(line)] == ["root", "root for ann"]


def test_acts_are_exported_as_lines_and_shown_a_line_each(line: Line) -> None:
    line.ok("store", "a fox")
    line.ok("quota", "clear")
    line.ok("acts", "export", "-o", "acts.ndjson")
    lines = [json.loads(each) for each in (line.folder / "acts.ndjson").read_text().splitlines()]
    assert [(each["number"], each["act"], each["outcome"]) for each in lines] == [
        (1, "quota.clear", "done"),
        (2, "acts.export", "begun"),
    ]
    shown = line.run("acts", "list", "--limit", "1").stdout
    assert "acts.export" in shown
    assert operator() in shown
    assert line.ok("acts", "verify").splitlines() == ["2 rows, 0 of acts that have not ended.", "All are as written."]


def test_a_database_that_has_no_table_of_acts_yet_says_what_helps(line: Line) -> None:
    assert "memory-gateway migrate" in line.fails("acts", "list")
    line.ok("migrate")
    assert [act["act"] for act in rows(line, "--deployment")] == ["migrate"]


@pytest.mark.thorough
def test_the_row_of_a_move_ends_where_the_tenant_lives_then(line: Line, tmp_path: Path) -> None:
    line.ok("store", "a fox")
    asyncio.run(add_shards(tmp_path / "data", ["east"]))
    line.run("shard", "move", "default", "east", "--linger-seconds", "0")
    (act,) = rows(line)
    assert (act["act"], act["outcome"], act["subject"]) == ("tenant.move", "done", {"name": "east"})
    assert rows(line, "--deployment") == []
