import json

from app.transfer.formats import Flaw
from app.transfer.record import Record
from tests.transfer.formats.foreign import AGENT, only, sample, written

WHEN = 1775369228000


def test_items_are_taken_with_text_agent_and_the_rest_of_the_value() -> None:
    first, second, third, *_ = sample("langgraph", "langgraph.json")
    assert first == Record(
        "tutor",
        "Is learning Welsh",
        metadata={
            "level": 2,
            "langgraph.key": "b7c9",
            "langgraph.updated_at": "2026-04-06T06:07:08.090123+00:00",
            "langgraph.score": 0.5,
        },
        created_at=WHEN + 90,
    )
    assert second == Record(
        "tutor-2",
        "Prefers evening lessons",
        metadata={
            "kind": "Memory",
            "content": {"sure": True},
            "langgraph.namespace": ["tutor-2", "memories"],
            "langgraph.key": "b7ca",
        },
        created_at=WHEN,
    )
    assert third == Record(
        AGENT,
        '{"age":41,"town":"Bangor"}',
        metadata={"langgraph.namespace": ["users", "u 1", "profile"], "langgraph.key": "b7cb"},
        created_at=WHEN,
    )


def test_a_value_that_is_no_object_or_empty_is_a_flaw() -> None:
    *_, bare, empty = sample("langgraph", "langgraph.json")
    reason = "has no object in value, or an empty one"
    assert (bare, empty) == (Flaw("items[3]", reason), Flaw("items[4]", reason))


def test_what_is_written_is_an_item_that_can_be_put() -> None:
    record = Record(
        "tutor", "Is learning Welsh", metadata={"level": 2}, id="01JZ0000000000000000000001", created_at=WHEN
    )
    assert json.loads(written("langgraph", [record])) == {
        "namespace": ["memories", "tutor"],
        "key": "01JZ0000000000000000000001",
        "value": {"content": "Is learning Welsh", "level": 2, "memory_gateway": {"id": "01JZ0000000000000000000001"}},
        "created_at": "2026-04-05T06:07:08.000Z",
        "updated_at": "2026-04-05T06:07:08.000Z",
    }


def test_an_item_goes_back_to_the_namespace_and_the_key_it_came_from() -> None:
    item = {"namespace": ["users", "ada"], "key": "k", "value": {"content": "a"}}
    back = json.loads(written("langgraph", [only("langgraph", json.dumps(item))]))
    assert (back["namespace"], back["key"]) == (["users", "ada"], "k")


def test_no_label_that_the_store_refuses_is_written() -> None:
    refused = [["a.b"], ["langgraph", "x"], [""], [], "users"]
    written_ = [Record("a.b", "text", metadata={"langgraph.namespace": namespace}) for namespace in refused]
    namespaces = [json.loads(line)["namespace"] for line in written("langgraph", written_).splitlines()]
    assert namespaces == [["memories"]] * len(refused)
