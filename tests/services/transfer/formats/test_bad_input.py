"""Whatever a file holds, it is taken, named as a flaw, or refused in words."""

import json
from contextlib import nullcontext, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidRequest, MalformedRequest
from app.services.transfer.formats import Flaw
from app.services.transfer.record import Record
from tests.services.transfer.formats.foreign import AGENT, NAMES, SAMPLES, entry, flaws, read
from tests.support.generation import examples


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("file", sorted(path.name for path in SAMPLES.iterdir()))
def test_a_truncated_document_is_refused(name: str, file: str) -> None:
    text = (SAMPLES / file).read_text(encoding="utf-8")
    for end in range(1, len(text) - 2, 97):
        with pytest.raises(MalformedRequest, match="neither a JSON document nor lines of JSON"):
            read(name, text[:end])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["7", '"text"', "null", "true", "{}", '{"error": "no"}', '{"results": {}}'])
def test_json_of_another_shape_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidRequest, match=f"not of the format {name}"):
        read(name, text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff", "[]"])
def test_an_empty_file_holds_nothing(name: str, text: str) -> None:
    assert read(name, text) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_line_is_a_flaw_and_the_rest_goes_on(name: str) -> None:
    good = json.dumps(entry(name, "a"))
    lines = [good, good[:-3], "null", "[1]", "{}", "", good]
    found = read(name, "\n".join(lines))
    assert [flaw.place for flaw in flaws(found)] == ["line 2", "line 3", "line 4: [0]", "line 5"]
    assert [one.content for one in found if isinstance(one, Record)] == ["a", "a"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [None, 7, True, [], ["a"], {"a": {}}, "", " \n", "a\0b", "a\ud800b"])
def test_what_is_no_text_is_a_flaw(name: str, content: object) -> None:
    found = read(name, json.dumps([entry(name, content)]))
    whole = name == "langgraph" and not isinstance(content, str)  # its value is the text then, as JSON
    assert [type(one) for one in found] == [Record if whole else Flaw]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("odd", ["a\0b", "\ud800", {"a\0": 1}, [["\udfff"]], {"": {"\ud800": None}}])
def test_nul_and_lone_surrogates_in_any_field_are_a_flaw(name: str, odd: object) -> None:
    assert flaws(read(name, json.dumps([entry(name, "a", odd=odd)]))) == [Flaw("[0]", "holds NUL or a lone surrogate")]


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_huge_field_is_a_flaw_that_does_not_repeat_it(name: str) -> None:
    (flaw,) = read(name, json.dumps([entry(name, "a", **{"x" * 10_000_000: 1})]))
    assert flaw == Flaw("[0]", "has a field whose name is longer than 10240 bytes")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth", [9, 200, 900])
def test_a_field_nested_deeply_is_a_flaw(name: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    text = json.dumps([entry(name, "a", deep=7)]).replace("7", nested)
    (flaw,) = read(name, text)
    assert isinstance(flaw, Flaw)
    assert "nested" in flaw.reason


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_document_nested_without_end_is_refused(name: str, opening: str) -> None:
    with pytest.raises(MalformedRequest, match=r"nested too deeply|neither a JSON document"):
        read(name, opening * 200_000)


def test_a_line_nested_without_end_is_a_flaw() -> None:
    found = read("mem0", '{"memory": "a"}\n' + "[" * 200_000)
    assert found == [Record(agent_id=AGENT, content="a"), Flaw("line 2", "is no JSON object")]


@pytest.mark.parametrize("name", NAMES)
def test_metadata_that_is_no_object_is_a_flaw_where_the_format_has_metadata(name: str) -> None:
    found = read(name, json.dumps([entry(name, "a", metadata=[1])]))
    has = name in {"mem0", "mcp-memory-service"}
    assert found == [Flaw("[0]", "has no object in metadata")] if has else isinstance(found[0], Record)


FIELDS = [
    *("memory", "content", "text", "value", "metadata", "results", "memories", "items", "id", "namespace", "key"),
    *("created_at", "updated_at", "expiration_date", "agent_id", "user_id", "run_id", "tags", "content_hash"),
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=examples(200))
@given(lines=st.lists(anything, min_size=1, max_size=3))
def test_no_json_makes_a_reader_fail_in_any_other_way(name: str, lines: list[object]) -> None:
    text = "\n".join(json.dumps(line) for line in lines)
    refusal = suppress(InvalidRequest) if len(lines) == 1 else nullcontext()
    with refusal:
        assert all(isinstance(one, Record | Flaw) for one in read(name, text))
