"""Rows of every tier travel with the memories: what an export brought is exported there as the very same lines."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain import limits
from app.domain.author import Author
from app.domain.episodes import NewRun
from app.domain.errors import Erasing, Unavailable
from app.domain.json_types import Scalar, to_json
from app.domain.memory import NewMemory
from app.domain.messages import NewMessage
from app.domain.preconditions import Precondition
from app.ports.object_store import NoObjectStore
from app.services.tiers.episodic import EpisodicMemory
from app.services.tiers.windows import WindowService
from app.services.tiers.working import WorkingMemory
from app.services.transfer.importer import Import
from app.services.transfer.intake import import_lines
from app.services.transfer.lines import LINE_BYTES, Manifest, row_line, whole_file
from app.services.transfer.report import ImportReport
from app.services.transfer.rows import RowImport
from app.services.transfer.verify import verify
from app.storage.tiers import rows as tier_rows
from app.storage.tiers.tables import TIER_TABLES, TierTable
from tests.services.transfer.corpus import SCHEMA, changed, exported, imported, in_chunks
from tests.support.backends import Backend
from tests.support.gateways import ADMINISTRATOR, Bench, bench_on
from tests.support.generation import examples
from tests.support.objects import keys
from tests.support.tables import column_of, rows_of
from tests.support.tier_rows import LATER, added, row_of

VALIDATOR = jsonschema_rs.validator_for(json.loads(SCHEMA.read_text(encoding="utf-8")))
TRAVELS = [tier for tier in TIER_TABLES if tier.travels]
OF_AGENTS = [tier for tier in TRAVELS if tier.of_agent]
RUNS, EPISODES, CALLS, WORKING_KEYS = (
    next(tier for tier in TIER_TABLES if tier.kind == kind)
    for kind in ("runs", "episodes", "tool_calls", "working_keys")
)
RUN = "01K2Z7A1B2C3D4E5F6G7H8J9KM"
AGENTS = ("bot", "other")


async def fill(bench: Bench, count: int = 3, tenant: str = "acme") -> None:
    for agent in AGENTS:
        await bench.tenant(tenant).store(agent, NewMemory(f"memory of {agent}"))
        for tier in TIER_TABLES:
            if tier.key:
                await added(bench, tenant, tier, [row_of(tier, n, agent) for n in range(count)])


def rows_in(data: bytes) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, data.splitlines()) if line["type"] == "tier"]


def statuses(report: list[dict[str, Any]]) -> Counter[str]:
    return Counter(line["status"] for line in report[:-1])


def file_of_rows(rows: list[tuple[TierTable, dict[str, Scalar]]]) -> bytes:
    return whole_file(Manifest("acme", None, 0, (), vectors=False), [row_line(tier, row) for tier, row in rows])


def calls(count: int, agent: str = "bot") -> list[tuple[TierTable, dict[str, Scalar]]]:
    return [(CALLS, row_of(CALLS, number, agent)) for number in range(count)]


async def test_rows_of_every_table_are_exported_and_imported_to_the_byte(bench: Bench, target: Bench) -> None:
    await fill(bench)
    data = await exported(bench)
    assert {row["kind"] for row in rows_in(data)} == {tier.kind for tier in TRAVELS}
    *lines, summary = await imported(target, data)
    assert summary["end"] == "holds"
    assert statuses([*lines, summary]) == {"imported": len(data.splitlines()) - 2}
    assert await exported(target) == data
    again = await imported(target, data)
    assert statuses(again) == {"unchanged": len(data.splitlines()) - 2}
    assert await exported(target) == data
    verdict = verify([data])
    assert (verdict.flaws, verdict.memories, verdict.rows) == (0, 2, len(rows_in(data)))
    for line in data.splitlines():
        VALIDATOR.validate(json.loads(line))


async def test_an_import_goes_to_the_tenant_of_the_credential_and_no_other_is_touched(bench: Bench) -> None:
    await fill(bench)
    mine = await exported(bench)
    *lines, summary = await imported(bench, mine, "globex")
    assert statuses([*lines, summary])["imported"] == len(mine.splitlines()) - 2
    assert rows_in(await exported(bench, "globex")) == rows_in(mine)
    assert await exported(bench) == mine


async def test_an_export_in_many_pages_is_the_same_as_in_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(bench, 7)
    whole = await exported(bench)
    monkeypatch.setattr(tier_rows, "PAGE_ROWS", 3)
    assert await exported(bench) == whole
    monkeypatch.setattr(tier_rows, "PAGE_BYTES", 30)
    assert await exported(bench) == whole


async def test_an_agents_export_has_its_own_rows_alone(bench: Bench) -> None:
    await fill(bench)
    rows = rows_in(await exported(bench, agent_id="bot"))
    assert {row["kind"] for row in rows} == {tier.kind for tier in OF_AGENTS}
    assert {row["row"]["agent_id"] for row in rows} == {"bot"}


@pytest.mark.parametrize("tier", [tier for tier in TRAVELS if tier.expires], ids=lambda tier: tier.kind)
async def test_what_has_expired_is_neither_exported_nor_imported(bench: Bench, tier: TierTable) -> None:
    await added(bench, "acme", tier, [row_of(tier, 1) | {"expires_at": 5}, row_of(tier, 2)])
    (row,) = rows_in(await exported(bench))
    assert row["row"]["expires_at"] == LATER
    gone, *_ = await imported(bench, file_of_rows([(tier, row_of(tier, 3) | {"expires_at": 5})]))
    assert (gone["status"], gone["detail"]) == ("rejected", "has expired")


@pytest.mark.thorough
async def test_an_import_cut_at_any_tenth_and_made_again_ends_the_same(backend: Backend, tmp_path: Path) -> None:
    data = file_of_rows(calls(450))
    async with bench_on(tmp_path / "cut", backend) as bench:
        for tenth in range(1, 10):
            *_, summary = await imported(bench, data[: len(data) * tenth // 10])
            assert (summary["end"], summary["conflict"]) == ("missing", 0)
        *lines, summary = await imported(bench, data)
        assert summary["end"] == "holds"
        assert statuses([*lines, summary]).keys() == {"unchanged", "imported"}
        assert (await exported(bench)).splitlines()[1:] == data.splitlines()[1:]


async def test_an_outage_ends_an_import_and_made_again_it_ends_the_same(bench: Bench) -> None:
    data, report = file_of_rows(calls(450)), ImportReport()

    async def chunks() -> Any:
        async for chunk in in_chunks(data):
            yield chunk
            if await rows_of(bench, "tool_call_log", "number"):
                bench.database.error = Unavailable("away")

    with pytest.raises(Unavailable):
        await import_lines(chunks(), Import(bench.backends.of_tenant("acme"), report), report)
    report.close()
    bench.database.error = None
    first = bench.backends.limits.import_lines
    assert statuses(await imported(bench, data)) == {"unchanged": first, "imported": 450 - first}


async def test_a_row_that_cannot_be_is_rejected_by_its_line_and_the_others_are_written(bench: Bench) -> None:
    lines = file_of_rows(calls(12)).splitlines(keepends=True)
    good = json.loads(lines[1])["row"]
    wrong: dict[int, Any] = {
        2: {"row": good | {"other": 1}},
        3: {"row": good | {"tenant_id": "globex"}},
        4: {"row": good | {"id": None}},
        5: {"row": good | {"tool": ["a list"]}},
        6: {"row": good | {"tool": True}},
        7: {"kind": "nothing"},
        8: {"kind": "blobs"},
        9: {"row": good | {"agent_id": "no agent"}},
    }
    for place, fields in wrong.items():
        lines[place] = changed(lines[place], **fields)
    lines[10] = changed(lines[10], hash="0" * 64)
    *report, summary = await imported(bench, b"".join(lines))
    assert [(line["line"], line["status"]) for line in report] == [
        (number + 1, "imported" if number in {1, 11, 12} else "rejected") for number in range(1, 13)
    ]
    assert "hash" in report[9]["detail"]
    assert summary["end"] == "wrong"


JSON_COLUMNS = [(tier, column) for tier in TRAVELS for column in tier.json]


async def test_a_column_of_json_takes_nothing_else(bench: Bench) -> None:
    for tier, column in JSON_COLUMNS:
        wrong: list[Scalar] = ["{", "", "NaN", "1 2", "[" * 20_000, 5]
        rows = [(tier, row_of(tier, number) | {column: value}) for number, value in enumerate(wrong)]
        *report, _ = await imported(bench, file_of_rows(rows))
        assert [(line["line"], line["status"]) for line in report] == [
            (n + 2, "rejected") for n in range(len(wrong))
        ], tier.kind
        assert {line["detail"] for line in report} == {f"{column} must be a text that is valid JSON"}, tier.kind
        assert rows_in(await exported(bench)) == [], (tier.kind, column)


NAME_COLUMNS = [
    (tier, column)
    for tier in TRAVELS
    for column in ("agent_id", "agent_type", "instance", "task_type")
    if column in tier.columns
]


async def test_a_name_has_the_form_of_an_agents_id(bench: Bench) -> None:
    for tier, column in NAME_COLUMNS:
        values: list[Scalar] = ["no agent", "", 7, "x" * 65]
        rows = [(tier, row_of(tier, n) | {column: value}) for n, value in enumerate(values)]
        *report, _ = await imported(bench, file_of_rows(rows))
        taken = [
            "imported" if value == "" and tier.unnamed and column == "agent_id" else "rejected" for value in values
        ]
        assert [line["status"] for line in report] == taken, (tier.kind, column)
        details = {line["detail"] for line in report if line["status"] == "rejected"}
        assert details == {f"{column} must have the form of an agent's id"}, tier.kind


@pytest.mark.parametrize(
    ("kind", "limit"), [("runs", "MAX_RUNS"), ("workflows", "MAX_WORKFLOWS"), ("context", "MAX_CONTEXT_DOCUMENTS")]
)
async def test_an_import_keeps_to_the_limits_of_the_tenant(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str, limit: str
) -> None:
    monkeypatch.setattr(limits, limit, 4)
    await keeps_to_four(bench, next(tier for tier in TRAVELS if tier.kind == kind))


async def test_an_import_keeps_to_the_episodes_of_the_tenant(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowImport, "_most", lambda *_: [4])
    await added(bench, "acme", RUNS, [row_of(RUNS, number) for number in range(7)])
    await keeps_to_four(bench, EPISODES)


async def test_an_episode_is_of_a_run_of_its_agent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowImport, "_most", lambda *_: [2])
    await added(bench, "acme", RUNS, [row_of(RUNS, 2), row_of(RUNS, 3)])
    await added(bench, "globex", RUNS, [row_of(RUNS, 1)])
    rows = [row_of(EPISODES, number) for number in range(4)]
    others = row_of(EPISODES, 5, "other") | {"run_id": row_of(RUNS, 2)["id"]}
    report = await imported(bench, file_of_rows([(EPISODES, row) for row in [*rows, others]]))
    assert [line["status"] for line in report[:-1]] == ["rejected", "rejected", "imported", "imported", "rejected"]
    assert {report[place]["detail"] for place in (0, 1, 4)} == {"its agent has no such run"}


async def test_large_values_travel_with_their_rows(bench: Bench, target: Bench) -> None:
    large = {"quotes": '"\\' * 50_000}
    await large_values(bench, large)
    data = await exported(bench)
    assert max(map(len, data.splitlines())) <= LINE_BYTES
    assert verify([data]).flaws == 0
    assert all("blob" not in column for row in rows_in(data) for column in row["row"])
    for expected in ("imported", "unchanged"):
        assert statuses(await imported(target, data)) == {expected: len(rows_in(data))}
    assert (await exported(target)).splitlines()[1:] == data.splitlines()[1:]
    run = await EpisodicMemory(target.backends.of_tenant("acme")).run(RUN)
    assert (run.input, run.output) == (large, large)
    held = await WorkingMemory(target.backends.of_tenant("acme")).get("bot", "i", "k")
    assert held.value == "x" * limits.LARGE_VALUE_BYTES
    assert len(await keys(target.backends.objects)) == 3
    assert {*await column_of(target, "blob", "state")} == {"stored"}


async def test_a_large_value_that_is_lost_travels_as_its_pointer(bench: Bench, target: Bench) -> None:
    await large_values(bench, {"quotes": "x" * limits.LARGE_VALUE_BYTES})
    for key in await keys(bench.backends.objects):
        await bench.backends.objects.delete(key)
    data = await exported(bench)
    assert statuses(await imported(bench, data)) == {"unchanged": len(rows_in(data))}
    assert statuses(await imported(target, data)) == {"imported": len(rows_in(data))}
    run: Any = await EpisodicMemory(target.backends.of_tenant("acme")).run(RUN)
    assert set(run.input["blob"]) == set(run.output["blob"]) == {"id", "sha256", "size", "media_type"}


async def test_a_line_names_no_blob_and_its_values_are_within_their_limits(bench: Bench) -> None:
    run, key = row_of(RUNS, 1), row_of(WORKING_KEYS, 1)
    too_large = to_json("x" * limits.RUN_VALUE_BYTES)
    rows = [
        (RUNS, run | {"input": f'{{"input":{too_large},"episode_ids":[]}}'}),
        (RUNS, run | {"input": too_large}),
        (RUNS, run | {"output": too_large}),
        (WORKING_KEYS, key | {"value": too_large}),
    ]
    lines = file_of_rows(rows).splitlines(keepends=True)
    good = json.loads(file_of_rows([(RUNS, run)]).splitlines()[1])
    lines.insert(1, changed((json.dumps(good) + "\n").encode(), row=good["row"] | {"input_blob": RUN}))
    *report, _ = await imported(bench, b"".join(lines))
    assert [line["status"] for line in report] == ["rejected"] * 5
    assert await keys(bench.backends.objects) == []


async def test_a_large_value_that_has_no_room_is_rejected_by_its_line(
    bench: Bench, target: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await large_values(bench, "x" * limits.LARGE_VALUE_BYTES)
    data = await exported(bench)
    monkeypatch.setattr(limits, "MAX_BLOBS", 1)
    report = await imported(target, data)
    # The run, and the two rows of its log.
    assert statuses(report) == {"rejected": 3, "imported": len(rows_in(data)) - 3}
    monkeypatch.undo()
    target.backends = replace(target.backends, objects=NoObjectStore())
    another = row_of(RUNS, 1) | {"output": to_json("x" * limits.LARGE_VALUE_BYTES)}
    assert "object store" in (await imported(target, file_of_rows([(RUNS, another)])))[0]["detail"]


async def test_a_row_that_is_not_taken_leaves_no_large_value(
    bench: Bench, target: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await large_values(bench, "x" * limits.LARGE_VALUE_BYTES)
    data = await exported(bench)
    monkeypatch.setattr(limits, "MAX_RUNS", 0)
    assert statuses(await imported(target, data)) == {"rejected": 3, "imported": len(rows_in(data)) - 3}
    assert len(await keys(target.backends.objects)) == 1


async def large_values(bench: Bench, value: Any) -> None:
    """Have a run with a large input and output, and a key with a large value."""
    backends = bench.backends.of_tenant("acme", ADMINISTRATOR)
    await EpisodicMemory(backends).begin(NewRun("bot", "type", value, RUN, 0))
    await EpisodicMemory(backends).complete(RUN, value)
    large = "x" * limits.LARGE_VALUE_BYTES
    await WorkingMemory(backends).set("bot", "i", "k", large, ttl_seconds=3600, only=Precondition())


async def keeps_to_four(bench: Bench, tier: TierTable) -> None:
    rows = [(tier, row_of(tier, number)) for number in range(7)]
    await imported(bench, file_of_rows(rows[1:3]))
    for expected in (["imported", "unchanged", "unchanged", "imported"], ["unchanged"] * 4):
        *report, _ = await imported(bench, file_of_rows([*rows, *rows[:1]]))
        assert [line["status"] for line in report] == [*expected, *["rejected"] * 3, "unchanged"]
        assert {line["detail"] for line in report[4:7]} == {tier.over}
    assert sum(row["kind"] == tier.kind for row in rows_in(await exported(bench))) == 4


def tier_of(kind: str) -> TierTable:
    return next(tier for tier in TRAVELS if tier.kind == kind)


PARENTS = {"working_keys": "working_instances", "working_turns": "working_windows", "working_log_entries": "runs"}
OF_WINDOWS = {"working_summaries": "working_windows"}


@pytest.mark.parametrize(
    ("kind", "limit", "most", "same"),
    [
        ("workflows", "MAX_WORKFLOWS_OF_TASK", 4, {}),
        ("context", "MAX_CONTEXT_BYTES", 4 * 13 + 12, {}),
        ("context", "MAX_CONTEXT_VERSIONS", 4, {"name": "a"}),
        ("working_instances", "MAX_WORKING_INSTANCES", 4, {}),
        ("working_windows", "MAX_WORKING_INSTANCES", 4, {}),
        ("working_keys", "WORKING_BYTES", 499, {"instance": "instance-0"}),
        ("working_keys", "MAX_WORKING_KEYS", 4, {"instance": "instance-0"}),
        ("working_log_entries", "LOG_BYTES", 499, {"run_id": row_of(RUNS, 0)["id"]}),
        ("working_turns", "MAX_WINDOW_BYTES", 499, {"instance": "instance-0"}),
        ("working_turns", "MAX_WINDOW_MESSAGES", 4, {"instance": "instance-0"}),
        ("working_summaries", "MAX_WINDOW_SUMMARIES", 4, {"instance": "instance-0"}),
    ],
)
async def test_an_import_keeps_to_the_limit_of_what_a_row_belongs_to(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str, limit: str, most: int, same: dict[str, Scalar]
) -> None:
    tier = tier_of(kind)
    if of := (PARENTS | OF_WINDOWS).get(kind):
        parent = tier_of(of)
        await added(bench, "acme", parent, [row_of(parent, 0), row_of(parent, 1)])
    monkeypatch.setattr(limits, limit, most)
    rows = [(tier, row_of(tier, number) | same) for number in range(7)]
    if kind == "context" and same:
        rows = [(tier, row | {"version": number + 1}) for number, (_, row) in enumerate(rows)]
    await imported(bench, file_of_rows(rows[1:3]))
    for expected in (["imported", "unchanged", "unchanged", "imported"], ["unchanged"] * 4):
        *report, _ = await imported(bench, file_of_rows(rows))
        assert [line["status"] for line in report] == [*expected, *["rejected"] * 3]
        assert {line["detail"] for line in report[4:]} == {tier.over}
    if len(tier.key) > 1 and "instance" in same:  # another instance has room of its own
        other, _ = await imported(bench, file_of_rows([(tier, row_of(tier, 9) | {"instance": "instance-1"})]))
        assert other["status"] == "imported"


async def test_what_is_no_summary_is_not_imported(bench: Bench) -> None:
    windows, tier = tier_of("working_windows"), tier_of("working_summaries")
    await added(bench, "acme", windows, [row_of(windows, 0)])
    wrong = ("5", "[5]", '[{"text":5,"memories":[],"weight":1}]', '[{"text":"a","memories":"b","weight":1}]', "[{}]")
    rows = [
        (tier, row_of(tier, number) | {"instance": "instance-0", "sentences": each})
        for number, each in enumerate(wrong)
    ]
    *report, _ = await imported(bench, file_of_rows(rows))
    assert {line["detail"] for line in report} == {"its table does not take the row (no_summary)"}


async def test_a_row_of_working_memory_belongs_to_something_that_is_there(bench: Bench) -> None:
    rows = [(tier_of(kind), row_of(tier_of(kind), 1)) for kind in PARENTS]
    *report, _ = await imported(bench, file_of_rows(rows))
    assert [line["detail"] for line in report] == ["has no instance", "has no window", "its agent has no such run"]


async def test_who_may_speak_for_some_alone_imports_no_messages_of_windows(bench: Bench, target: Bench) -> None:
    ella = Author("of-ella", "http", 5, speakers=frozenset({"ella"}))
    for author, text in ((ADMINISTRATOR, "said by an administrator"), (ella, "said by ella")):
        window = WindowService(bench.backends.of_tenant("acme", author))
        await window.append("bot", "i", [NewMessage("user", text)], ttl_seconds=3600)
    data = await exported(bench)
    bound = replace(ella, channel="import")
    rejected = [line for line in await imported(target, data, author=bound) if line.get("status") == "rejected"]
    assert ["may speak for some alone" in line["detail"] for line in rejected] == [True] * 2
    assert {row["kind"] for row in rows_in(await exported(target))} == {"working_instances", "working_windows"}
    assert statuses(await imported(target, data, author=ADMINISTRATOR)) == {"unchanged": 2, "imported": 2}
    assert rows_in(await exported(target)) == rows_in(data)


async def test_a_row_cannot_say_that_it_has_fewer_bytes_than_it_has(bench: Bench) -> None:
    for kind in PARENTS:
        rows = [(tier_of(kind), row_of(tier_of(kind), 1) | {"bytes": said}) for said in (1, None, "100", 2.5)]
        *report, _ = await imported(bench, file_of_rows(rows))
        assert {line["detail"] for line in report} == {"bytes must not be less than what the row holds"}, kind


@pytest.mark.parametrize("tier", [tier for tier in TRAVELS if tier.day], ids=lambda tier: tier.kind)
async def test_working_memory_that_would_live_for_more_than_a_day_is_not_imported(
    bench: Bench, tier: TierTable
) -> None:
    row = row_of(tier, 1) | {"expires_at": LATER + 5 * 3600 * 1000}
    *report, _ = await imported(bench, file_of_rows([(tier, row)]))
    assert [line["detail"] for line in report] == ["expires later than working memory may"]


@pytest.mark.parametrize("tier", [tier for tier in TRAVELS if "expires_at" in tier.told], ids=lambda tier: tier.kind)
async def test_a_row_whose_end_is_no_integer_in_its_line_is_not_imported(bench: Bench, tier: TierTable) -> None:
    manifest = file_of_rows([]).splitlines(keepends=True)[0]
    for end in (f'"{LATER}"', f'"{LATER}000"', f"{LATER}.0", f"{LATER}000.0", "5.0", "5.5", '"5"', '""'):
        row = row_of(tier, 1) | {"expires_at": json.loads(end)}
        line = re.sub(rb'"expires_at":[^,}]*', f'"expires_at":{end}'.encode(), row_line(tier, row).data)
        first, *_ = await imported(bench, manifest + line)
        assert (first["status"], first["detail"]) == ("rejected", "expires_at must be an integer"), end


async def test_a_row_that_names_no_agent_stays_without_one_though_all_is_given_to_one(bench: Bench) -> None:
    recalls = tier_of("recalls")
    dropped = row_of(recalls, 1) | {"agent_id": "", "event": "recalls_dropped"}
    rows = [(recalls, dropped), (recalls, row_of(recalls, 2))]
    for expected in ("imported", "unchanged"):
        *report, _ = await imported(bench, file_of_rows(rows), to_agent="third")
        assert [line["status"] for line in report] == [expected] * 2
    assert {row["row"]["agent_id"] for row in rows_in(await exported(bench))} == {"", "third"}
    *report, _ = await imported(bench, file_of_rows(rows), "globex", only_agent="bot")
    assert [line["status"] for line in report] == ["rejected", "imported"]


async def test_versions_of_a_document_and_the_configuration_are_within_the_limit(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CONTEXT_DOCUMENTS", 1)
    tier = next(tier for tier in TRAVELS if tier.kind == "context")
    named = [("/configuration", 1), ("a", 1), ("a", 2), ("b", 1)]
    rows = [(tier, row_of(tier, 1) | {"name": name, "version": version}) for name, version in named]
    *report, _ = await imported(bench, file_of_rows(rows))
    assert [line["status"] for line in report] == ["imported", "imported", "imported", "rejected"]


async def test_a_key_is_of_the_type_of_its_column(bench: Bench) -> None:
    for tier in TRAVELS:
        row, names = row_of(tier, 1), {"agent_id", "instance"}
        rows: list[tuple[TierTable, dict[str, Scalar]]] = []
        details = []
        for column in tier.key:
            wrong: list[Scalar] = ["8", 8.5, "x"] if column in tier.integers else [8]
            rows.extend((tier, row | {column: value}) for value in wrong)
            what = "be an integer" if column in tier.integers else "be a text"
            details.extend(
                [f"{column} must " + ("have the form of an agent's id" if column in names else what)] * len(wrong)
            )
        *report, _ = await imported(bench, file_of_rows(rows))
        assert [(line["status"], line["detail"]) for line in report] == [("rejected", detail) for detail in details], (
            tier.kind
        )


async def test_what_the_tables_own_rules_refuse_is_rejected_and_the_others_are_written(bench: Bench) -> None:
    rows = calls(9)
    rows[2][1]["id"] = "too short"
    rows[5][1]["recorded_at"] = "no number"
    rows[8][1]["tool"] = None
    *report, summary = await imported(bench, file_of_rows(rows))
    assert [line["line"] for line in report if line["status"] == "rejected"] == [4, 7, 10]
    assert (summary["imported"], summary["end"]) == (6, "holds")
    assert len(await rows_of(bench, "tool_call_log")) == 6


async def test_a_row_is_never_written_over_another(bench: Bench) -> None:
    rows = calls(2)
    await imported(bench, file_of_rows(rows))
    before = await exported(bench)
    others = [(tier, row | {"tool": "another"}) for tier, row in rows]
    report = await imported(bench, file_of_rows([*others, *rows, (CALLS, row_of(CALLS, 3)), *others[:1]]))
    assert [line["status"] for line in report[:-1]] == [
        *("conflict", "conflict", "unchanged", "unchanged", "imported", "conflict"),
    ]
    assert len(rows_in(await exported(bench))) == 3
    assert set(before.splitlines()[1:-1]) <= set((await exported(bench)).splitlines())


async def test_a_credential_of_one_agent_takes_its_rows_alone_and_an_operator_gives_all_to_one(bench: Bench) -> None:
    rows = [(tier, row_of(tier, 1, agent)) for tier in TRAVELS for agent in (AGENTS if tier.of_agent else ("bot",))]
    data = file_of_rows(rows)
    report = await imported(bench, data, only_agent="bot")
    taken = [line["status"] == "imported" for line in report[:-1]]
    assert taken == [tier.of_agent and row["agent_id"] == "bot" for tier, row in rows]
    report = await imported(bench, data, "globex", to_agent="third")
    assert statuses(report)["rejected"] == 0
    held_there = rows_in(await exported(bench, "globex"))
    assert {row["row"].get("agent_id", "third") for row in held_there} == {"third"}


async def test_while_an_agent_is_erased_none_of_its_rows_is_imported(bench: Bench) -> None:
    await bench.gateway.store("other", NewMemory("red"))
    await bench.gateway.erase("other")
    await imported(bench, file_of_rows(calls(3)))
    with pytest.raises(Erasing):
        await imported(bench, file_of_rows([*calls(1), *calls(1, "other")]))
    assert {row["row"]["agent_id"] for row in rows_in(await exported(bench))} == {"bot"}


async def test_files_of_earlier_versions_are_read(bench: Bench) -> None:
    await bench.gateway.store("bot", NewMemory("red"))
    first, memory, end = (await exported(bench)).splitlines(keepends=True)
    for version in (1, 2):
        lines = [changed(first, version=version, tenant="globex"), memory, changed(end, rows=None)]
        for line in lines:
            VALIDATOR.validate(json.loads(line))
        *_, summary = await imported(bench, b"".join(lines), "globex")
        assert (summary["end"], summary["rejected"]) == ("holds", 0)


values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60)


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.tuples(values, st.integers(0, 2**53)), max_size=12))
async def test_whatever_a_row_holds_survives_the_way_out_and_in(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, int]]
) -> None:
    rows = calls(len(texts))
    for (_, row), (text, number) in zip(rows, texts, strict=True):
        row["tool"], row["recorded_at"] = text, number
    data = file_of_rows(rows)
    async with bench_on(tmp_path_factory.mktemp("one")) as bench:
        assert statuses(await imported(bench, data)) == ({"imported": len(rows)} if rows else {})
        assert (await exported(bench)).splitlines()[1:] == data.splitlines()[1:]
