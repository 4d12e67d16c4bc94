"""docs/requirements.md: each row is held by tests that exist, and each page, heading and row that it names is there."""

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
CONTRACTS = ROOT / "pyproject.toml"
INDEX = "The documents' own words"

Row = Mapping[str, str]
"""The cells of a row by the heads of its table."""


def tables() -> dict[str, list[Row]]:
    """Return the rows of the table of each section."""
    found: dict[str, list[Row]] = {}
    for section in PAGE.read_text("utf-8").split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        lines = [line.removeprefix("| ").removesuffix(" |") for line in text.splitlines() if line.startswith("| ")]
        head, *rows = [line.split(" | ") for line in lines]
        found[title] = [dict(zip(head, row, strict=True)) for row in rows]
    return found


def sections() -> dict[str, list[Row]]:
    """Return the requirements of each section; the last one is the index."""
    found = tables()
    del found[INDEX]
    return found


def links(text: str) -> Iterator[tuple[str, str]]:
    """Return the words and the target of each link."""
    for part in text.split("[")[1:]:
        words, between, rest = part.partition("](")
        if between:
            yield words, rest.partition(")")[0]


@cache
def named_in(path: Path) -> set[str]:
    """Return the names of the tests that pytest collects of a file; some files take over another's with ``*``."""
    if path == CONTRACTS:
        return {each["name"] for each in tomllib.loads(path.read_text("utf-8"))["tool"]["importlinter"]["contracts"]}
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.module and node.names[0].name == "*":
            names |= named_in((ROOT / node.module.replace(".", "/")).with_suffix(".py"))
    return names


@cache
def texts_of(path: Path) -> set[str]:
    """Return the texts that a file of tests has, among them the names of cases."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def is_there_in(path: Path, words: str) -> bool:
    """Tell whether a file has an import contract, or a test with the case that may stand behind a colon."""
    if path == CONTRACTS:
        return words in named_in(path)
    test, colon, case = words.partition(": ")
    return f"test_{test.replace(' ', '_')}" in named_in(path) and (not colon or case in texts_of(path))


def is_held(cell: str) -> bool:
    """Tell whether a cell is a list of tests, or of import contracts, which all exist."""
    held = [(words, (PAGE.parent / target).resolve()) for words, target in links(cell)]
    if cell != "<br>".join(f"[{words}]({target})" for words, target in links(cell)) or not held:
        return False
    collected = all(path == CONTRACTS or path.name.startswith("test_") for _, path in held)
    return collected and all(path.is_file() and is_there_in(path, words) for words, path in held)


def headings(page: Path) -> Sequence[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    prose = "".join(page.read_text("utf-8").split("```")[::2])
    titles = [line.lstrip("#").strip().lower() for line in prose.splitlines() if line.startswith("#")]
    return ["".join(one for one in title if one.isalnum() or one in " -_").replace(" ", "-") for title in titles]


def is_there(target: str) -> bool:
    file, _, anchor = target.partition("#")
    page = (PAGE.parent / file).resolve() if file else PAGE
    return page.is_file() and (not anchor or anchor in headings(page))


def test_every_requirement_has_an_id_of_its_own_and_all_its_cells_are_filled() -> None:
    rows = [row for rows in sections().values() for row in rows]
    ids = [row["id"] for row in rows]
    assert len(ids) > 100
    assert sorted(set(ids)) == sorted(ids)
    assert [row["id"] for row in rows if not all(cell.strip() for cell in row.values())] == []


def test_every_requirement_is_held_by_tests_that_exist_or_the_page_says_why_not() -> None:
    without: list[str] = []
    for rows in sections().values():
        for row in rows:
            if row["held by"] == "deviates":
                said = "](decisions/" in row["deviates"]
            elif row["held by"] == "deferred":
                said = "](" in row["what became of it"]
            else:
                said = is_held(row["held by"])
            without += [] if said else [row["id"]]
    assert without == []


def test_every_deviation_names_the_decision_or_the_page_that_says_why() -> None:
    deviating = [row for rows in sections().values() for row in rows if not row.get("deviates", "no").startswith("no")]
    assert len(deviating) > 10
    assert [row["id"] for row in deviating if not [*links(row["deviates"])]] == []


def test_every_page_and_heading_that_is_named_is_there() -> None:
    assert [target for _, target in links(PAGE.read_text("utf-8")) if not is_there(target)] == []


def test_every_word_of_the_index_leads_to_rows_that_there_are_and_stands_in_its_place() -> None:
    ids = {row["id"] for rows in sections().values() for row in rows}
    index = tables()[INDEX]
    assert len(index) > 100
    assert [row["word"] for row in index if not {*row["rows"].split(", ")} <= ids or not row["here"].strip()] == []
    words = [row["word"].strip("`").lower() for row in index]
    assert words == sorted(set(words))
