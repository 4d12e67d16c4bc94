"""The client's operations and types are made of the OpenAPI document, and of nothing else."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from app.interfaces.http.application import openapi_document
from client_generator import made, names, write


@pytest.fixture(scope="module")
def document() -> Any:
    return openapi_document()


def test_what_the_document_has_no_more_is_gone_from_the_package(document: Any, tmp_path: Path) -> None:
    (tmp_path / "operations").mkdir()
    (tmp_path / "operations" / "archive.py").write_text("of a document before")
    less = deepcopy(document)
    less["paths"] = {path: each for path, each in less["paths"].items() if not path.startswith("/archive")}
    write(less, tmp_path)
    assert not (tmp_path / "operations" / "archive.py").exists()
    assert "list_archive" not in (tmp_path / "operations" / "__init__.py").read_text("utf-8")


def test_an_operation_a_field_and_a_member_that_are_new_come_into_the_client(document: Any) -> None:
    more = deepcopy(document)
    body = more["components"]["schemas"]["StoreRequest"]["properties"]
    body["tone"] = {"type": "string", "enum": ["calm", "loud"], "description": "How it was said."}
    answer = more["components"]["schemas"]["MemoryAnswer"]["properties"]
    answer["tone"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    more["paths"]["/tones"] = {"get": deepcopy(more["paths"]["/healthz"]["get"]) | {"operationId": "tones"}}
    files = made(more)
    assert "tone: str | None = None,\n" in files["operations/memory.py"]
    assert "tone: How it was said. One of ``calm``, ``loud``." in files["operations/memory.py"]
    assert any("    tone: str | None = None\n" in text for path, text in files.items() if path.startswith("types/"))
    assert "    tones = Method(" in files["operations/__init__.py"]


def test_an_old_name_of_a_parameter_is_taken_with_the_new_one(document: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "RENAMED", {"recall": {"reference_date": "reference_time"}})
    text = made(document)["operations/memory.py"]
    assert "reference_date: datetime | None = None,\n" in text
    assert 'reference_time=renamed("reference_date", reference_date, "reference_time", reference_time),' in text


def test_a_deprecated_field_is_no_parameter(document: Any) -> None:
    older = deepcopy(document)
    older["components"]["schemas"]["RecallRequest"]["properties"]["reference_time"]["deprecated"] = True
    text = made(older)["operations/memory.py"]
    recall = text[text.index("def recall(") : text.index("def explain(")]
    assert "reference_time" not in recall.split('"""')[0]


@pytest.mark.parametrize("table", ["ANSWERS", "METHODS", "AGENTS", "POSITIONAL", "LINES"])
def test_no_table_names_what_the_document_does_not_have(document: Any, table: str) -> None:
    ids = {each["operationId"] for verbs in document["paths"].values() for each in verbs.values()}
    assert set(getattr(names, table)) <= ids | document["components"]["schemas"].keys()
    assert {name for name, _ in names.VALUES} | names.ONCE | names.RENAMED.keys() <= ids
