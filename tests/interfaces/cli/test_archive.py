"""The commands for the archive, in processes of their own."""

import asyncio
import json
from pathlib import Path

from app.runtime.archive import archive_all
from app.services.transfer.lines import Manifest, memory_line, whole_file
from app.services.transfer.record import Record
from tests.interfaces.cli.line import Line
from tests.support.service import serving

AT = "2024-01-01T00:00:00.000Z"


def test_what_is_archived_is_listed_read_and_restored(line: Line) -> None:
    line.ok("store", "first", "--tenant", "acme", "--agent", "bot")
    record = Record(
        agent_id="bot",
        content="of long ago",
        metadata={},
        id="01HK2Z4M1V7Q8T3B5N6C7D8E9F",
        created_at=1_704_067_200_000,
    )
    file = line.folder / "old.ndjson"
    file.write_bytes(whole_file(Manifest("acme", None, 1, (), vectors=False), [memory_line(record)]))
    assert line.run("import", str(file), "--tenant", "acme").returncode == 0

    async def move() -> None:
        async with serving(Path(line.environment["DATA_DIR"])) as service:
            assert await archive_all(service.runtime.backends, 30)

    asyncio.run(move())
    (listed,) = line.json("archive", "list", "--tenant", "acme", "--agent", "bot")["objects"]
    assert (listed["kind"], listed["items"], listed["first_at"]) == ("memories", 1, AT)
    assert "of long ago" not in line.ok("recall", "of long ago", "--tenant", "acme", "--agent", "bot")
    got = json.loads(line.ok("archive", "get", listed["first_id"], "--tenant", "acme"))
    assert (got["object"], got["item"]["content"]) == (listed["id"], "of long ago")
    assert line.json("archive", "restore", listed["id"], "--tenant", "acme")["imported"] == 1
    assert "of long ago" in line.ok("recall", "of long ago", "--tenant", "acme", "--agent", "bot")
    assert line.ok("archive", "list", "--tenant", "acme").strip() == "Nothing is archived."
    assert "Nothing of this id" in line.fails("archive", "get", listed["first_id"], "--tenant", "acme")
