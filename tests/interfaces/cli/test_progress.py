"""The bars that long commands show on a terminal: they move, and work that ends well fills them."""

import json
import re
from pathlib import Path

import pytest

from app.bootstrap import DATABASE_FILE
from app.indexing.jobs import reconcile
from tests.interfaces.cli.line import Done, Line
from tests.support.damage import lose_index
from tests.support.tables import at_rest

pytestmark = pytest.mark.thorough

MANY = 60


def percentages(done: Done) -> list[int]:
    assert done.returncode == 0, done
    return [int(each) for each in re.findall(r"(\d+)%", done.stderr)]


def check_moves(done: Done) -> None:
    seen = percentages(done)
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (0, 100)
    assert len(set(seen)) > 3, seen


@pytest.fixture
def filled(line: Line, monkeypatch: pytest.MonkeyPatch) -> Line:
    """Hold many memories, of which jobs embed few in a call."""
    monkeypatch.setattr(reconcile, "MAX_BATCH", 10)
    told = line.run("import", "-", "--format", "mem0", stdin=lines())
    assert f"{MANY} imported" in told.stdout
    return line


def lines() -> str:
    return "".join(json.dumps({"memory": f"memory {n} " + "of the harbour " * 20}) + "\n" for n in range(MANY))


def document(name: str) -> str:
    entries = [json.loads(each) for each in lines().splitlines()]
    if name == "mem0":
        return json.dumps({"results": entries})
    if name == "langgraph":
        return json.dumps({"items": [{"value": {"content": each["memory"]}} for each in entries]})
    return json.dumps({"memories": [{"content": each["memory"]} for each in entries]})


@pytest.mark.parametrize("name", ["mem0", "langgraph", "mcp-memory-service"])
def test_the_bar_of_an_import_moves_with_the_entries_of_a_document(line: Line, name: str) -> None:
    file = line.folder / "given.json"
    file.write_text(document(name), "utf-8")
    check_moves(line.on_terminal("import", str(file), "--format", name))


def test_the_bar_of_an_import_moves_with_the_lines_of_a_file(line: Line) -> None:
    file = line.folder / "given.jsonl"
    file.write_text(lines(), "utf-8")
    check_moves(line.on_terminal("import", str(file), "--format", "mem0"))


def test_the_bar_of_an_export_moves_page_by_page(line: Line) -> None:
    many = "".join(json.dumps({"memory": f"memory {n}"}) + "\n" for n in range(1700))
    line.run("import", "-", "--format", "mem0", stdin=many)
    check_moves(line.on_terminal("export", "-o", str(line.folder / "out.ndjson")))


def test_the_bars_of_an_export_s_check_and_import_move(filled: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.interfaces.cli.transfer._CHUNK", 4096)
    out = str(filled.folder / "out.ndjson")
    filled.run("export", "-o", out)
    check_moves(filled.on_terminal("verify", out))
    check_moves(filled.on_terminal("import", out, DATA_DIR=str(filled.folder / "other")))


def test_a_bar_of_what_has_no_known_size_moves_and_is_full_in_the_end(line: Line) -> None:
    told = line.on_terminal("import", "-", "--format", "mem0", stdin=lines())
    assert len(set(told.stderr.split("\r"))) > 3
    assert percentages(told)[-1] == 100


def test_the_bar_of_nothing_is_full_in_the_end(line: Line) -> None:
    assert percentages(line.on_terminal("export", "-o", str(line.folder / "out.ndjson")))[-1] == 100


def test_the_bar_of_a_rebuild_moves_with_the_memories_and_ends_full(filled: Line) -> None:
    at_rest(Path(filled.environment["DATA_DIR"]) / DATABASE_FILE, lose_index)
    check_moves(filled.on_terminal("rebuild", "--yes"))


def test_the_bar_of_a_move_to_another_model_moves_with_the_memories_and_ends_full(filled: Line) -> None:
    check_moves(filled.on_terminal("reembed", "start", EMBEDDER="local"))
