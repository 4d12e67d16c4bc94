"""What the help shows, and what is said of a line that is mistyped."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from app.interfaces.cli import cli
from tests.interfaces.cli.line import Line, misused

SECTIONS = ["Start", "Memories", "Credentials", "Operate", "Move data", "Cloudflare"]
_ROW = re.compile(r"^  (?P<name>[a-z]+) +(?P<help>\S.*)$")


def commands(
    command: click.Command = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Give each command there is, with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, (*path, name))


COMMANDS = dict(commands())


def shown(*path: str) -> list[str]:
    done = CliRunner(env={"COLUMNS": "80"}).invoke(cli, [*path, "--help"], prog_name="memory-gateway")
    assert done.exit_code == 0
    return done.output.splitlines()


def rows(*path: str) -> dict[str, str]:
    """Return the commands that a help lists, each with what stands beside it."""
    lines = shown(*path)
    listed = lines[
        next(n for n, line in enumerate(lines) if line in {f"{title}:" for title in ("Commands", *SECTIONS)}) :
    ]
    return {match["name"]: match["help"] for line in listed if (match := _ROW.match(line))}


def test_commands_stand_in_sections_by_who_needs_them() -> None:
    titles = [line.removesuffix(":") for line in shown() if re.fullmatch(r"[A-Z][A-Za-z ]+:", line)]
    assert titles == ["Options", *SECTIONS]
    assert list(rows()) == [name for name, *rest in (path for path in COMMANDS if path) if not rest]
    assert {"list", "get", "delete", "agents", "usage"} <= set(rows())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_help_is_made_of_whole_sentences_within_80_columns(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    told = [
        inspect.cleandoc(command.help or ""),
        *(each.help or "" for each in command.params if isinstance(each, click.Option)),
    ]
    for text in told:
        assert re.match(r"[A-Z](?s:.)*\.$", text), text
    lines = shown(*path)
    assert max(map(len, lines)) <= 80
    assert not any(line.rstrip().endswith("...") for line in lines if not line.startswith("Usage:"))


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if isinstance(command, click.Group)])
def test_a_list_of_commands_has_a_whole_sentence_on_one_line_for_each(path: tuple[str, ...]) -> None:
    found = rows(*path)
    assert set(found) == {name for *group, name in (each for each in COMMANDS if each) if tuple(group) == path}
    assert [text for text in found.values() if not re.fullmatch(r"[A-Z].*\.", text)] == []


def test_the_help_says_of_each_command_what_its_own_help_begins_with() -> None:
    for name, told in rows().items():
        assert " ".join(inspect.cleandoc(COMMANDS[name,].help or "").split()).startswith(told), name


def test_the_help_imports_no_command() -> None:
    code = "import sys; from app.interfaces.cli import cli; cli(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Operate:" in done.stdout
    assert not {"app.bootstrap", "fastapi", "httpx"} & set(done.stdout.splitlines()[-1].split())


def test_the_steps_of_a_move_to_another_model_are_listed_in_their_order() -> None:
    assert list(rows("reembed")) == ["start", "status", "parity", "switch", "rollback", "drop"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recalll", "x"], "No such command 'recalll'. Did you mean 'recall'?"),
        (["exprot"], "No such command 'exprot'. Did you mean 'export'?"),
        (["token", "revok"], "No such command 'revok'. Did you mean 'revoke'?"),
        (["reembed", "swich"], "No such command 'swich'. Did you mean 'switch'?"),
        (["recall", "x", "--topk", "3"], "No such option '--topk'. Did you mean '--top-k'?"),
        (["list", "--limits", "3"], "No such option '--limits'. Did you mean '--limit'?"),
        (["nothing-like-it"], "No such command 'nothing-like-it'."),
    ],
)
def test_who_mistypes_a_command_or_an_option_is_told_the_nearest(arguments: list[str], said: str) -> None:
    assert f"Error: {said}" in misused(*arguments)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["recall", "x", "--top-k", "51"], "--top-k"),
        (["recall", "x", "--top-k", "0"], "--top-k"),
        (["recall", "x", "--filter", '{"metadata": {"a": {"b": 1}}}'], "--filter"),
        (["recall", "x", "--filter", '{"kind": "invoice"}'], "--filter"),
        (["recall", "x", "--filter", '{"created_after": "yesterday"}'], "--filter"),
        (["recall", "x", "--filter", "kind=invoice"], "--filter"),
        (["store", "x", "--metadata", "[" * 20_000], "--metadata"),
        (["store", "x", "--metadata", '{"a": NaN}'], "--metadata"),
        (["store", "x", "--metadata", '{"a": "' + "x" * 11_000 + '"}'], "--metadata"),
        (["store", "x", "--session", "s" * 257], "--session"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--metadata", '{"a": []}'], "--metadata"),
        (["list", "--created-before", "yesterday"], "--created-before"),
        (["list", "--written-by", "a b"], "--written-by"),
        (["get", "short"], "ID"),
        (["delete", "short"], "ID"),
        (["token", "--tenant", "a", "--expires", "0d"], "--expires"),
        (["provision", "--poll-seconds", "-1"], "--poll-seconds"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_name_of_its_option(arguments: list[str], option: str) -> None:
    told = misused(*arguments)
    assert re.search(rf"^Error: Invalid value for '{option}'", told, re.MULTILINE), told


def test_an_error_does_nothing_to_a_terminal(line: Line) -> None:
    told = line.fails("serve", ENV_FILE="no\x1b[31m\u202efile")
    assert told == "Error: ENV_FILE: no\\x1b[31m\\u202efile is no file.\n"
