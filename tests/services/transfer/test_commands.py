"""The commands that move memories, as their user runs them."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from app.interfaces.cli import cli
from app.services.transfer.report import ImportLine, ImportReport
from tests.services.transfer.corpus import file_of, numbered


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Line":
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDER", "hashing")
    monkeypatch.setenv("READER", "none")
    return Line(tmp_path)


class Line:
    """Runs commands on data directories of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str, data: str = "data", stdin: bytes = b"") -> Result:
        return CliRunner().invoke(cli, arguments, input=stdin, env={"DATA_DIR": str(self.folder / data)})

    def ok(self, *arguments: str, **more: str | bytes) -> Result:
        done = self.run(*arguments, **more)  # type: ignore[arg-type]
        assert done.exit_code == 0, done.output
        return done

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def test_what_one_command_exports_another_imports_and_a_third_finds_whole(line: Line) -> None:
    (line.folder / "given").write_bytes(file_of(numbered(5), "default"))
    assert line.ok("import", "given").stdout == (
        "5 imported, 0 unchanged, 0 duplicate, 0 conflict, 0 rejected. The file is whole.\n"
        "Written to the agents: bot (5).\n"
    )
    line.ok("export", "--vectors", "-o", "out.ndjson")
    assert line.ok("verify", "out.ndjson").stdout == "7 lines, 5 memories, 5 vectors, 0 rows. The file is whole.\n"
    out = (line.folder / "out.ndjson").read_bytes()
    summary = json.loads(line.ok("import", "-", "--json", data="other", stdin=out).stdout)
    assert (summary["imported"], summary["end"]) == (5, "holds")
    assert line.ok("export", "--vectors", data="other").stdout_bytes == out
    assert line.names() == {"given", "out.ndjson", "data", "other"}


def test_an_export_that_fails_leaves_the_file_that_was_there(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    (line.folder / "out.ndjson").write_bytes(b"yesterday's")

    def fail(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", fail)
    assert line.run("export", "-o", "out.ndjson").exit_code != 0
    assert (line.folder / "out.ndjson").read_bytes() == b"yesterday's"
    assert line.names() == {"out.ndjson", "data"}


def test_a_file_that_cannot_be_written_is_told_with_the_name_of_the_option(line: Line) -> None:
    done = line.run("export", "-o", str(line.folder / "absent" / "out.ndjson"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: Invalid value for '--output': " in done.stderr
    assert "cannot be written: No such file or directory." in done.stderr


def test_a_cut_file_is_found_out_and_imported_as_far_as_it_goes(line: Line) -> None:
    whole = file_of(numbered(20), "default")
    (line.folder / "cut").write_bytes(whole[: len(whole) // 2 + 10])
    (line.folder / "whole").write_bytes(whole)
    verdict = line.run("verify", "cut")
    assert (verdict.exit_code, "there is no closing line" in verdict.stdout) == (1, True)
    done = line.run("import", "cut")
    assert (done.exit_code, '"detail":"is not valid JSON"' in done.stderr) == (1, True)
    assert "There is no closing line" in done.stdout
    assert "20 imported" not in line.ok("import", "whole").stdout
    assert line.ok("export").stdout_bytes.splitlines()[1:] == whole.splitlines()[1:]


def test_a_file_that_is_not_there_and_a_format_that_is_not_known_are_named(line: Line) -> None:
    assert "absent" in line.run("import", "absent").stderr
    assert "absent" in line.run("verify", "absent").stderr
    assert "'nope' is not one of" in line.run("import", "absent", "--format", "nope").stderr


def test_one_agent_is_exported_alone(line: Line) -> None:
    (line.folder / "both").write_bytes(file_of([*numbered(2), *numbered(3, start=9, agent_id="other")], "default"))
    assert line.ok("import", "both").stdout.endswith("\nWritten to the agents: other (3), bot (2).\n")
    assert len(line.ok("export", "--agent", "other").stdout.splitlines()) == 5
    assert len(line.ok("export", "--tenant", "another").stdout.splitlines()) == 2


def agents_of(line: Line) -> dict[str, set[str]]:
    """Which contents each agent has."""
    found: dict[str, set[str]] = {}
    for text in line.ok("export").stdout.splitlines()[1:-1]:
        memory = json.loads(text)
        found.setdefault(memory["agent_id"], set()).add(memory["content"])
    return found


def test_an_agent_that_is_named_gets_every_memory_whatever_its_line_says(line: Line) -> None:
    (line.folder / "both").write_bytes(file_of([*numbered(2), *numbered(2, start=9, agent_id="other")], "default"))
    summary = json.loads(line.ok("import", "both", "--agent", "new", "--json").stdout)
    assert (summary["imported"], summary["agents"]) == (4, {"new": 4})
    assert set(agents_of(line)) == {"new"}
    again = json.loads(line.ok("import", "both", "--agent", "new", "--json").stdout)
    assert (again["unchanged"], again["agents"]) == (4, {})


def test_an_agents_memories_are_copied_to_others_of_the_same_tenant(line: Line) -> None:
    (line.folder / "given").write_bytes(file_of(numbered(3), "default"))
    line.ok("import", "given")
    for agent in ("second", "third", "fourth", "fifth"):
        told = line.ok("import", "given", "--agent", agent).stdout
        assert told.endswith(f"\nWritten to the agents: {agent} (3).\n")
        assert "0 imported, 3 unchanged" in line.ok("import", "given", "--agent", agent).stdout
    held = agents_of(line)
    assert list(held.values()) == [held["bot"]] * 5
    assert "0 imported, 3 unchanged" in line.ok("import", "given").stdout


@pytest.mark.parametrize(
    ("format_", "entry"),
    [
        ("mem0", {"memory": "text", "agent_id": "theirs"}),
        ("langgraph", {"namespace": ["memories", "theirs"], "value": {"content": "text"}}),
        ("mcp-memory-service", {"content": "text", "metadata": {"agent_id": "theirs"}}),
    ],
)
def test_the_agent_that_is_named_goes_before_that_of_another_systems_entry(
    line: Line, format_: str, entry: dict[str, Any]
) -> None:
    data = json.dumps(entry).encode()
    line.ok("import", "-", "--format", format_, "--agent", "ours", stdin=data)
    assert agents_of(line) == {"ours": {"text"}}
    line.ok("import", "-", "--format", format_, stdin=data)
    assert agents_of(line) == {"ours": {"text"}, "theirs": {"text"}}


def test_an_import_that_writes_to_very_many_agents_names_some_and_counts_the_rest(line: Line) -> None:
    entries = (json.dumps({"memory": "text", "agent_id": f"agent-{n:04}"}) for n in range(120))
    told = line.ok("import", "-", "--format", "mem0", stdin="\n".join(entries).encode()).stdout
    assert told.count("(1)") == 20
    assert told.endswith(" and others (100).\n")
    with closing(ImportReport()) as report:
        for n in range(1200):
            report.add(ImportLine(n, None, "imported", agent_id=f"agent-{n}"))
        assert len(report.agents) == 1000


def test_another_systems_format_is_read(line: Line) -> None:
    format_ = ("--format", "mem0", "--agent", "bot")
    done = line.run("import", "-", *format_, stdin=b'{"memory": "one"}\n{}\n{"memory": "two"}\n')
    assert "2 imported, 0 unchanged, 0 duplicate, 0 conflict, 1 rejected" in done.stdout
    assert '"detail":"line 2: is no JSON object"' in done.stderr
    again = line.ok("import", "-", *format_, stdin=b'{"memory": "one"}\n{"memory": "two"}\n')
    assert "0 imported, 2 unchanged" in again.stdout
