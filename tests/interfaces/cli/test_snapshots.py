"""The commands for snapshots, in processes of their own."""

import json
from pathlib import Path

from tests.interfaces.cli.line import Line


def test_a_snapshot_is_made_listed_verified_and_restored(line: Line) -> None:
    for n in range(3):
        line.ok("store", f"memory {n}", "--tenant", "acme", "--agent", "bot")
    made = line.json("snapshot", "make", "--tenant", "acme")
    assert (made["memories"], made["parts"], made["agents"]) == (3, 1, ["bot"])
    assert line.json("snapshot", "list", "--tenant", "acme") == {"snapshots": [made]}
    assert line.ok("snapshot", "list", "--tenant", "acme").startswith(f"{made['id']}  {made['created_at']}  3 memories")
    assert line.ok("snapshot", "list", "--tenant", "globex").strip() == "There is no snapshot."
    told = line.ok("snapshot", "verify", made["id"], "--tenant", "acme")
    assert told.endswith("3 memories, 0 rows. The snapshot is whole.\n")
    restored = line.json("snapshot", "restore", made["id"], "--tenant", "acme", "--to", "globex")
    assert (restored["imported"], restored["end"], restored["agents"]) == (3, "holds", {"bot": 3})
    assert "memory 1" in line.ok("recall", "memory 1", "--tenant", "globex", "--agent", "bot")
    again = line.json("snapshot", "restore", made["id"], "--tenant", "acme")
    assert (again["imported"], again["unchanged"]) == (0, 3)


def test_a_part_that_is_missing_or_changed_is_named_and_nothing_is_restored(line: Line) -> None:
    line.ok("store", "first", "--tenant", "acme", "--agent", "bot")
    made = line.json("snapshot", "make", "--tenant", "acme")["id"]
    part = Path(line.environment["DATA_DIR"]) / "blobs" / "s" / "acme" / made / "000000.ndjson"
    whole = part.read_bytes()
    for spoil, said in ((lambda: part.write_bytes(whole[:-2] + b"!\n"), "has changed"), (part.unlink, "is missing")):
        spoil()
        for command in (("verify", made), ("restore", made, "--to", "globex")):
            ended = line.run("snapshot", *command, "--tenant", "acme")
            assert ended.returncode == 1
            assert f"s/acme/{made}/000000.ndjson {said}" in ended.stderr
    assert json.loads(line.run("agents", "--tenant", "globex", "--json").stdout)["agents"] == []
    assert "no snapshot" in line.fails("snapshot", "verify", "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "--tenant", "acme")
