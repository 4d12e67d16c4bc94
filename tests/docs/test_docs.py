"""The documents: what they say exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "deploy" / "README.md",
        ROOT / "deploy" / "edge" / "README.md",
        ROOT / "double" / "README.md",
        *(path for path in (ROOT / "clients").rglob("README.md") if "node_modules" not in path.parts),
    ]
)


def _text(document: Path) -> str:
    return document.read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_file_a_document_names_exists(document: Path) -> None:
    named = set(re.findall(r"`((?:app|tests|bench|clients|deploy|docs|double)/[\w./-]+)`", _text(document)))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_link_of_a_document_leads_to_a_file(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", _text(document))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_promise_of_reliability_names_a_file_with_tests() -> None:
    rows = re.findall(r"^\| \d+ \| .* \| (.*) \|$", _text(ROOT / "docs" / "reliability.md"), re.MULTILINE)
    assert len(rows) >= 12
    for row in rows:
        names = re.findall(r"`(tests/[\w/]+\.py)`", row)
        assert names, row
        assert all("def test_" in _text(ROOT / name) for name in names), row


def test_every_decision_says_what_holds_it() -> None:
    decisions = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    assert [decision.name for decision in decisions if "## Held by" not in _text(decision)] == []
