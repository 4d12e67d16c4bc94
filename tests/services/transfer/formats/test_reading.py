"""How files are read, whatever the format."""

import io
import json
from collections.abc import Iterator

import pytest

from app.domain.errors import MalformedRequest
from app.domain.limits import MAX_NUMBER
from app.services.transfer.formats import FORMATS, Flaw
from app.services.transfer.record import Record
from tests.services.transfer.formats.foreign import AGENT, NAMES, entry, only, read


@pytest.mark.parametrize("name", NAMES)
def test_a_number_beyond_what_may_be_stored_is_kept_as_text(name: str) -> None:
    numbers = f"[{MAX_NUMBER}, {MAX_NUMBER + 1}, 1e400, {'9' * 5000}, NaN, -Infinity, -1.5]"
    text = json.dumps([entry(name, "a", numbers=7)]).replace("7", numbers)
    (kept,) = [value for key, value in only(name, text).metadata.items() if key.endswith("numbers")]
    assert kept == [MAX_NUMBER, str(MAX_NUMBER + 1), "1e400", "9" * 5000, None, None, -1.5]


@pytest.mark.parametrize("value", ["", "soon", "2026-02-30", "10000-01-01T00:00:00Z", True, [], {}, 1e300, -1e18])
def test_what_is_no_moment_is_a_flaw(value: object) -> None:
    found = read("mem0", json.dumps([{"memory": "a", "created_at": value}]))
    assert found == [Flaw("[0]", "created_at is no moment of the years 1 to 9999")]


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31T10:30:00+01:00",
        "2026-01-31 09:30:00",
        "2026-01-31T09:30:00.000",
        "20260131T093000Z",
        1769851800.0,
        1769851800000,
    ],
)
def test_moments_are_read_in_the_ways_in_which_they_are_written(value: object) -> None:
    assert only("mem0", json.dumps({"memory": "a", "created_at": value})).created_at == 1769851800000


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_not_utf_8_is_refused(name: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'{"memory": "\xff"}'), encoding="utf-8")
    with pytest.raises(MalformedRequest, match="not UTF-8"):
        list(FORMATS[name].read(stream, AGENT))


def test_lines_are_read_as_they_come() -> None:
    class Endless(io.StringIO):
        def __iter__(self) -> Iterator[str]:  # type: ignore[override]
            while True:
                yield '{"memory": "a"}\n'

    found = FORMATS["mem0"].read(Endless(), AGENT)
    assert [next(found) for _ in range(3)] == [Record(agent_id=AGENT, content="a")] * 3
