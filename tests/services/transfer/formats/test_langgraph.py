from app.services.transfer.formats import Flaw
from app.services.transfer.record import Record
from tests.services.transfer.formats.foreign import AGENT, sample

WHEN = 1775369228000


def test_items_are_taken_with_text_agent_and_the_rest_of_the_value() -> None:
    first, second, third, *_ = sample("langgraph", "langgraph.json")
    assert first == Record(
        agent_id="tutor",
        content="Is learning Welsh",
        metadata={
            "level": 2,
            "langgraph.key": "b7c9",
            "langgraph.updated_at": "2026-04-06T06:07:08.090123+00:00",
            "langgraph.score": 0.5,
        },
        created_at=WHEN + 90,
    )
    assert second == Record(
        agent_id="tutor-2",
        content="Prefers evening lessons",
        metadata={
            "kind": "Memory",
            "content": {"sure": True},
            "langgraph.namespace": ["tutor-2", "memories"],
            "langgraph.key": "b7ca",
        },
        created_at=WHEN,
    )
    assert third == Record(
        agent_id=AGENT,
        content='{"age":41,"town":"Bangor"}',
        metadata={"langgraph.namespace": ["users", "u 1", "profile"], "langgraph.key": "b7cb"},
        created_at=WHEN,
    )


def test_a_value_that_is_no_object_or_empty_is_a_flaw() -> None:
    *_, bare, empty = sample("langgraph", "langgraph.json")
    reason = "has no object in value, or an empty one"
    assert (bare, empty) == (Flaw("items[3]", reason), Flaw("items[4]", reason))
