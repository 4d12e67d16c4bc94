"""The commands that list, show and delete memories, and those that tell what a tenant holds."""

import json
from typing import Any

import pytest

from app.domain.quotas import TIERS
from app.storage.tiers.tables import TIER_TABLES
from tests.interfaces.cli.line import Line

DEFAULTS = {
    "tenant": {"memories": 1_000_000, "bytes": 2 * 1024**3, "stores_per_minute": 6_000},
    "agent": {"memories": 500_000, "bytes": 1024**3, "stores_per_minute": 3_000},
}
NONE = {tier.kind: 0 for tier in TIER_TABLES if tier.counted}

ABSENT = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"
HIDING = "red\x1b[31m \u202eyes\nsecond line\tend"


def lines_of(told: str) -> list[Any]:
    return [json.loads(each) for each in told.splitlines()]


def test_memories_are_listed_newest_first_a_line_each(line: Line) -> None:
    ids = [line.json("store", f"memory {n}")["id"] for n in range(3)]
    line.ok("store", "another's", "--agent", "other")
    told = line.ok("list").splitlines()
    assert [each.split()[0] for each in told] == ids[::-1]
    assert told[0].endswith("  memory 2")
    assert [memory["content"] for memory in lines_of(line.ok("list", "--agent", "other", "--json"))] == ["another's"]


def test_a_list_has_as_many_memories_as_are_wanted_and_says_that_there_are_more(line: Line) -> None:
    for n in range(3):
        line.ok("store", f"memory {n}")
    done = line.run("list", "--limit", "2")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert done.stderr == "There are more than these 2: a higher --limit shows them.\n"
    assert line.run("list", "--limit", "3").stderr == ""


def test_more_than_a_page_is_listed(line: Line) -> None:
    memories = "\n".join(json.dumps({"memory": f"memory {n}"}) for n in range(205))
    line.run("import", "-", "--format", "mem0", stdin=memories)
    assert len(set(line.run("list", "--limit", "203").stdout.splitlines())) == 203


def test_a_list_is_filtered_as_the_api_filters_it(line: Line) -> None:
    first = line.json("store", "first", "--metadata", '{"kind": "invoice", "n": 1}')["id"]
    line.ok("store", "second", "--metadata", '{"kind": "letter"}')
    listed = lines_of(line.ok("list", "--json", "--metadata", '{"kind": "invoice"}'))
    assert [memory["id"] for memory in listed] == [first]
    moment = listed[0]["created_at"]
    later = lines_of(line.ok("list", "--json", "--created-after", moment))
    assert first not in [memory["id"] for memory in later]
    assert line.ok("list", "--created-before", moment) == "nothing found\n"
    assert line.ok("list", "--written-by", "c-1") == "nothing found\n"
    empty = line.run("list", "--written-by", "c-1", "--json")
    assert (empty.returncode, empty.stdout, empty.stderr) == (0, "", "nothing found\n")


def test_a_recall_takes_the_whole_filter_of_the_api(line: Line) -> None:
    line.ok("store", "an invoice of May", "--metadata", '{"kind": "invoice"}')
    (entry,) = line.json("recall", "invoice", "--filter", '{"metadata": {"kind": "invoice"}}')["entries"]
    for name in ("created_after", "created_before"):
        assert line.json("recall", "invoice", "--filter", json.dumps({name: entry["created_at"]}))["entries"] == []
    around = {"created_after": "2000-01-01T00:00:00Z", "created_before": "2999-01-01T00:00:00+01:00", "metadata": {}}
    assert line.json("recall", "invoice", "--filter", json.dumps(around))["entries"][0]["id"] == entry["id"]


def test_a_memory_is_shown_with_everything_that_was_stored_of_it(line: Line) -> None:
    asked = ("--metadata", '{"k": [1]}', "--session", "s", "--occurred-at", "2026-01-01T00:00:00Z")
    memory_id = line.json("store", "text", *asked, "--agent", "bot", "--tenant", "acme")["id"]
    whose = ("--agent", "bot", "--tenant", "acme")
    found = line.json("get", memory_id, *whose)
    assert found.pop("created_at") == found["source"].pop("written_at")
    assert found == {
        "id": memory_id,
        "agent_id": "bot",
        "content": "text",
        "metadata": {"k": [1]},
        "session_id": "s",
        "occurred_at": "2026-01-01T00:00:00.000Z",
        "source": {"channel": "command"},
        "type": "fact",
    }
    (entry,) = line.json("recall", "text", *whose)["entries"]
    assert (entry["occurred_at"], entry["session_id"]) == ("2026-01-01T00:00:00.000Z", "s")
    told = line.ok("get", memory_id, *whose).splitlines()
    assert told[0] == f"id          {memory_id}"
    assert 'metadata    {"k":[1]}' in told
    assert told[-2:] == ["", "text"]


def test_a_memory_is_deleted_for_good_and_one_that_is_not_there_is_told(line: Line) -> None:
    kept, gone = line.json("store", "kept")["id"], line.json("store", "gone")["id"]
    assert line.ok("delete", gone) == f"deleted {gone}\n"
    assert [memory["id"] for memory in lines_of(line.ok("list", "--json"))] == [kept]
    assert [entry["id"] for entry in line.json("recall", "gone")["entries"]] == [kept]
    assert line.json("delete", kept) == {"deleted": True, "id": kept}


@pytest.mark.parametrize("command", ["get", "delete"])
def test_a_memory_that_is_not_there_or_is_anothers_is_told_in_one_line_that_says_where_to_look(
    line: Line, command: str
) -> None:
    theirs = line.json("store", "theirs", "--agent", "other")["id"]
    for memory_id in (ABSENT, theirs):
        assert line.fails(command, memory_id) == (
            f"Error: The agent default of the tenant default has no memory {memory_id}: "
            "memory-gateway list --tenant default --agent default shows those it has.\n"
        )
    assert line.json("get", theirs, "--agent", "other")["content"] == "theirs"


def test_what_a_memory_holds_does_nothing_to_a_terminal_where_it_is_listed_or_shown(line: Line) -> None:
    memory_id = line.json("store", HIDING, "--metadata", '{"k\\u202e": "\\u001b"}', "--session", "\u200b s")["id"]
    (listed,) = line.ok("list").splitlines()
    assert listed.endswith("red\\x1b[31m \\u202eyes\\nsecond line\\tend")
    shown = line.ok("get", memory_id)
    assert shown.endswith("\n\nred\\x1b[31m \\u202eyes\nsecond line\tend\n")
    for told in (shown, line.ok("get", memory_id, "--json"), line.ok("list", "--json")):
        assert not set("\x1b\u202e\u200b") & set(told)
    assert line.json("get", memory_id)["content"] == HIDING


def test_a_long_memory_is_cut_in_the_list_alone(line: Line) -> None:
    memory_id = line.json("store", "word " * 200 + "end")["id"]
    (listed,) = line.ok("list").splitlines()
    assert listed.endswith("word ...")
    assert len(listed) < 200
    assert line.ok("get", memory_id).endswith("end\n")


def test_the_agents_of_a_tenant_are_listed_with_what_they_hold(line: Line) -> None:
    assert line.ok("agents") == "The tenant default has no agents.\n"
    assert line.json("agents") == {"agents": []}
    for agent, content in (("bot", "one"), ("bot", "two"), ("billing", "a longer text")):
        line.ok("store", content, "--agent", agent)
    first, *_ = agents = line.json("agents")["agents"]
    assert {name: first[name] for name in ("agent_id", "memories", "bytes")} == {
        "agent_id": "billing",
        "memories": 1,
        "bytes": 15,
    }
    assert line.ok("agents").splitlines() == [
        "agent    memories  bytes  first stored              last stored",
        *(
            f"{one['agent_id']:<9}{one['memories']:<10}{one['bytes']:<7}" + "  ".join(times)
            for one, times in ((each, (each["first_stored_at"], each["last_stored_at"])) for each in agents)
        ),
    ]
    assert line.json("agents", "--tenant", "other") == {"agents": []}


def test_usage_tells_what_the_api_tells(line: Line) -> None:
    line.ok("store", "one", "--agent", "bot")
    told = line.json("usage", AGENT_MEMORIES="5")
    for usage in (told["tenant"], *told["agents"]):
        assert usage.pop("stores_this_minute") <= 1  # a minute may be over
    by_tier = {"long_term": 5, **dict.fromkeys(TIERS, 0)}
    assert told == {
        "tenant": {"memories": 1, "bytes": 5, "bytes_by_tier": by_tier, "limits": DEFAULTS["tenant"]},
        "kept": {"idempotency_keys": 0, "audit_rows": 1, "agent_settings": 0, "receipts": 0, "snapshot_bytes": 0}
        | NONE,
        "agents": [
            {
                "memories": 1,
                "bytes": 5,
                "bytes_by_tier": by_tier,
                "limits": DEFAULTS["agent"] | {"memories": 5},
                "agent_id": "bot",
            }
        ],
    }
    head, tenant, agent, *rest = line.ok("usage", AGENT_MEMORIES="5").splitlines()
    assert head.endswith("  stores per minute")
    assert tenant.startswith("tenant default  1 of 1000000  5 of 2147483648  ")
    assert agent.startswith("agent bot       1 of 5        5 of 1073741824  ")
    assert rest[1:4] == ["bytes by tier:", "long term          5", "working            0"]
    assert rest[11:13] == ["kept beside the memories:", "idempotency keys   0"]
    alone = line.json("usage", "--agent", "bot", AGENT_MEMORIES="5")
    assert (list(alone), alone["agents"][0]["limits"]) == (["agents"], DEFAULTS["agent"] | {"memories": 5})


def test_the_file_of_another_tenant_comes_in_and_it_is_said_whose_it_is(line: Line) -> None:
    line.ok("store", "Ann likes tea")
    line.run("export", "-o", "out.ndjson")
    done = line.run("import", "out.ndjson", "--tenant", "globex")
    assert done.returncode == 0, done.stderr
    assert 'rejected"' not in done.stderr
    assert "1 imported" in done.stdout
    assert "export of the tenant default" in done.stdout
    assert "purge" in done.stdout
    again = json.loads(line.run("import", "out.ndjson", "--tenant", "globex", "--json").stdout)
    assert (again["unchanged"], again["of_tenant"], again["rejected"]) == (1, "default", 0)
    assert "export of" not in line.run("import", "out.ndjson").stdout
