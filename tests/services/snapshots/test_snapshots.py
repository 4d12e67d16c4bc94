"""A snapshot has all that a tenant has; it is kept, verified, restored and deleted as a whole."""

import json

import pytest
from structlog.testing import capture_logs

from app.domain import limits
from app.domain.episodes import NewRun
from app.domain.errors import NotFound, ObjectGone
from app.domain.memory import NewMemory
from app.services.snapshots import manifest as manifests
from app.services.snapshots.writing import PART_BYTES
from app.services.tiers.episodic import EpisodicMemory
from tests.services.snapshots.tenants import (
    LATE_MS,
    fill,
    grow_old,
    keeper,
    known,
    objects_of,
    recalled,
    restored,
    snapshots,
    whole,
)
from tests.support.gateways import ADMINISTRATOR, Bench
from tests.support.memories import memory_rows
from tests.support.objects import keys
from tests.support.tables import delete_rows, insert_rows, rows_of

BOUND = PART_BYTES
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def test_a_snapshot_is_parts_of_whole_lines_and_a_manifest_that_says_what_they_are(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(3)
    assert (made.tenant, made.memories, made.agents) == ("acme", 12, ["bot", "other"])
    assert len(made.parts) > 1
    assert max(part.bytes for part in made.parts) <= 1500 < BOUND == 4 * 1024 * 1024
    assert sum(part.lines for part in made.parts) == 12 + made.rows + 2
    parts = [f"s/acme/{made.id}/{number:06d}.ndjson" for number in range(len(made.parts))]
    assert sorted(await objects_of(bench)) == [*parts, f"s/acme/{made.id}/manifest.json"]
    (listed,) = await whole(bench)
    assert listed == made
    verdict = await snapshots(bench).verify(made)
    assert (verdict.flaws, verdict.memories, verdict.lines) == (0, 12, 12 + made.rows + 2)


@pytest.mark.parametrize("target", ["acme", "globex"])
async def test_what_was_stored_before_is_recalled_after_it_was_restored(bench: Bench, target: str) -> None:
    await fill(bench)
    made = await keeper(bench).keep(3)
    before = await recalled(bench, "acme", "bot", "bot of acme likes number 4")
    for row in await memory_rows(bench, "id", "agent_id", tenant_id="acme"):
        await bench.gateway.delete(str(row["agent_id"]), str(row["id"]))
    await bench.delivered()
    assert await recalled(bench, "acme", "bot", "bot of acme likes number 4") == []
    summary = await restored(bench, made, target)
    assert (summary["rejected"], summary["conflict"], summary["end"]) == (0, 0, "holds")
    assert summary["imported"] >= 12
    after = await recalled(bench, target, "bot", "bot of acme likes number 4")
    assert (after[0], sorted(after)) == (before[0], sorted(before))
    assert len(before) == 6
    assert (await restored(bench, made, target))["imported"] == 0


async def test_the_newest_are_kept_and_older_ones_are_deleted_once_the_new_one_is_there(bench: Bench) -> None:
    await fill(bench)
    made = [(await keeper(bench).keep(2)).id for _ in range(4)]
    assert [each.id for each in await whole(bench)] == made[:1:-1]
    assert await known(bench) == [("acme", "stored")] * 2
    assert {key.split("/")[2] for key in await objects_of(bench)} == set(made[2:])


async def test_no_tenant_s_snapshots_are_another_s(bench: Bench) -> None:
    await fill(bench)
    await fill(bench, "acme2")
    await fill(bench, "..")
    made = [await keeper(bench, tenant).keep(1) for tenant in ("acme", "acme2", "..")]
    for tenant, own in zip(("acme", "acme2", ".."), made, strict=True):
        assert [each.id for each in await whole(bench, tenant)] == [own.id]
        for other in made:
            if other is not own:
                with pytest.raises(NotFound):
                    await snapshots(bench, tenant).manifest(other.id)
    await keeper(bench, "acme").delete(made[0].id)
    assert await objects_of(bench) == []
    assert len(await whole(bench, "acme2")) == len(await whole(bench, "..")) == 1


async def test_a_part_that_is_missing_is_named_and_never_a_gap(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    await bench.backends.objects.delete(f"s/acme/{made.id}/000001.ndjson")
    for read in (snapshots(bench).verify, snapshots(bench).check):
        with pytest.raises(ObjectGone, match=f"s/acme/{made.id}/000001.ndjson is missing") as gone:
            await read(made)
        assert (gone.value.status, gone.value.code) == (410, "object_gone")


@pytest.mark.parametrize("change", [lambda data: data[:-2] + b"!\n", lambda data: data[:-1], lambda data: data + b"\n"])
async def test_a_part_that_has_changed_is_named(bench: Bench, change: object) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    key = f"s/acme/{made.id}/000000.ndjson"
    data = await bench.backends.objects.get(key, most=10_000)
    await bench.backends.objects.put(key, change(data), "text/plain")  # type: ignore[operator]
    with pytest.raises(ObjectGone, match=f"{key} has changed"):
        await snapshots(bench).check(made)


async def test_a_snapshot_says_how_many_large_values_it_lacks(bench: Bench) -> None:
    await fill(bench)
    assert (await keeper(bench).keep(3)).lost == 0
    runs = EpisodicMemory(bench.backends.of_tenant("acme", ADMINISTRATOR))
    await runs.begin(NewRun("bot", "type", "x" * limits.LARGE_VALUE_BYTES, RUN, 0))
    await runs.complete(RUN, 1)
    (blob,) = await keys(bench.backends.objects)
    await bench.backends.objects.delete(blob)
    with capture_logs() as logs:
        made = await keeper(bench).keep(3)
    assert made.lost == 1
    (warning,) = [log for log in logs if log["log_level"] == "warning"]
    assert (warning["event"], warning["kind"], warning["blobs"]) == ("export_lacks_values", "runs", [blob[7:]])
    assert [each.lost for each in await whole(bench)] == [1, 0]
    assert (await snapshots(bench).verify(made)).flaws == 0


async def test_a_manifest_of_before_values_were_counted_is_read(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    key = f"s/acme/{made.id}/manifest.json"
    fields = json.loads(await bench.backends.objects.get(key, most=100_000))
    del fields["lost"]
    await bench.backends.objects.put(key, json.dumps(fields).encode(), "application/json")
    assert await whole(bench) == [made]


@pytest.mark.parametrize("data", [b"", b"[]", b'{"format":"memory-gateway-snapshot","version":1}', b"{}"])
async def test_a_damaged_manifest_is_named(bench: Bench, data: bytes) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    await bench.backends.objects.put(f"s/acme/{made.id}/manifest.json", data, "application/json")
    with pytest.raises(ObjectGone, match=f"s/acme/{made.id}/manifest.json is damaged"):
        await snapshots(bench).manifest(made.id)


async def test_a_manifest_of_another_snapshot_in_its_place_is_named(bench: Bench) -> None:
    await fill(bench)
    one, two = await keeper(bench).keep(2), await keeper(bench).keep(2)
    other = manifests.write_manifest(one)
    await bench.backends.objects.put(f"s/acme/{two.id}/manifest.json", other, "application/json")
    with pytest.raises(ObjectGone, match="of another snapshot"):
        await snapshots(bench).manifest(two.id)


async def test_a_lost_database_s_snapshots_are_listed_restored_and_known_again(bench: Bench) -> None:
    await fill(bench)
    made = await keeper(bench).keep(1)
    await delete_rows(bench, "snapshot")
    assert await whole(bench) == [made]
    await keeper(bench).clean_up()
    assert await known(bench) == [("acme", "stored")]
    ((row,)) = await rows_of(bench, "snapshot", "bytes", "created_at", "agents")
    assert (row["bytes"], row["created_at"], row["agents"]) == (made.bytes, made.created_at, '["bot","other"]')


async def test_objects_that_nobody_knows_and_that_have_no_manifest_are_deleted_once_none_is_on_its_way(
    bench: Bench,
) -> None:
    old, new = "01EJ1RQY000000000000000000", (await keeper(bench).keep(1)).id
    await delete_rows(bench, "snapshot")
    await bench.backends.objects.delete(f"s/acme/{new}/manifest.json")
    await bench.backends.objects.put(f"s/acme/{old}/000000.ndjson", b"left", "text/plain")
    await keeper(bench).clean_up()
    assert {key.split("/")[2] for key in await objects_of(bench)} == {new}  # it may just be written


async def test_one_that_is_being_written_is_left_to_its_writer(bench: Bench) -> None:
    await fill(bench)
    begun = {"created_at": bench.clock(), "renewed_at": bench.clock()}
    row = {"tenant_id": "acme", "id": "01EJ1RQY000000000000000000", "state": "writing", "bytes": 0}
    await insert_rows(bench, "snapshot", row | begun)
    await keeper(bench).clean_up()
    assert await known(bench) == [("acme", "writing")]
    grow_old(bench, LATE_MS)
    await keeper(bench).clean_up()
    assert await known(bench) == []


async def test_what_is_stored_while_it_is_written_makes_it_no_other(bench: Bench) -> None:
    await fill(bench)

    async def store(operation: str, key: str) -> None:
        if operation == "put" and key.endswith("000000.ndjson"):
            await bench.gateway.store("bot", NewMemory("later than the first part"))

    bench.backends.objects.before = store
    made = await keeper(bench).keep(1)
    assert (await snapshots(bench).verify(made)).flaws == 0
