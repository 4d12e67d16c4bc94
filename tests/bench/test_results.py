"""What the pages of results say of themselves, and the tables that ``make bench`` writes."""

import json
from pathlib import Path

import pytest

from bench.report import RESULTS, Figure, circumstances, listed
from bench.users.sections import Section, cell
from bench.users.shapes import COLUMNS, OTHERS, ROWS
from bench.users.weight import packages_mb

PAGES = sorted(RESULTS.glob("*.md"))
FIGURE = Figure("recall: 1k", "ms CPU", [3.0, 2.0, 4.0], [0.1, 0.1, 0.1])


def test_there_are_pages_of_results() -> None:
    assert "latest.md" in [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
@pytest.mark.parametrize("named", [["commit"], ["cpu: ", "Processors: "], ["load"], ["date"]])
def test_each_page_of_results_names_commit_machine_load_and_date(page: Path, named: list[str]) -> None:
    last = page.read_text("utf-8").rpartition("\n## ")[2]
    assert any(name in last for name in named)


def test_a_measurement_tells_the_load_of_the_machine_before_it_and_at_the_end() -> None:
    before, after = listed(circumstances()), listed(circumstances(1.4))
    assert "before)" in before
    assert "at the end)" in after
    assert after.endswith("- seconds: 1")
    assert "- memory: " in before


def test_a_cell_is_the_median_and_how_many_times_the_floor_it_is() -> None:
    assert cell(FIGURE) == "3 (30x)"
    assert cell(Figure("rate", "a second", [380.4])) == "380"


@pytest.mark.parametrize(("floor", "over"), [(0.1, True), (0.25, False), (None, True)])
def test_a_limit_of_cpu_time_is_one_of_a_machine_whose_floor_takes_a_tenth_of_a_millisecond(
    floor: float | None,
    over: bool,  # noqa: FBT001 - what pytest names
) -> None:
    floors = [] if floor is None else [floor] * 3
    assert Figure("recall", "ms CPU", [3.0, 2.0, 4.0], floors, limit=2.5).over is over
    assert Figure("recall", "ms", [3.0, 2.0, 4.0], floors, limit=2.5).over


def test_a_section_takes_the_place_of_what_was_measured_before_and_leaves_the_others(tmp_path: Path) -> None:
    data, page = tmp_path / "table.json", tmp_path / "table.md"
    for name, title in (("cpu", "First"), ("weight", "Second"), ("cpu", "Third")):
        section = Section(name, title, "What it is.", figures=[FIGURE])
        section.show("A table", [("", "1k"), ("recall", cell(FIGURE))])
        section.keep(data, page)
    text = page.read_text("utf-8")
    assert list(json.loads(data.read_text("utf-8"))) == ["cpu", "weight"]
    assert "## First" not in text
    assert text.index("## Third") < text.index("## Second")
    assert text.count("| recall | 3 (30x) |") == text.count("- commit: ") == text.count("- load: ") == 2
    assert "| recall: 1k | ms CPU | 3      | 2 - 4     | 30.0    |" in text


def test_every_store_is_asked_rows_that_there_are_and_no_two_have_one_name() -> None:
    shapes = (*COLUMNS, *OTHERS)
    assert {row for shape in shapes for row in shape.rows} == set(ROWS)
    assert len({shape.name for shape in shapes}) == len(shapes)


def test_the_packages_of_the_service_take_room() -> None:
    assert packages_mb() > 50
