from app.services.transfer.formats import Flaw
from app.services.transfer.record import Record
from tests.services.transfer.formats.foreign import AGENT, read, sample

NAME = "mcp-memory-service"


def test_memories_are_taken_with_their_agent_times_tags_and_hashes() -> None:
    first, second, third, lost = sample(NAME, "mcp_memory_service.json")
    assert first == Record(
        agent_id="ops-bot",
        content="The staging database is restored every Monday",
        metadata={
            "ticket": 481,
            f"{NAME}.content_hash": "9f1c",
            f"{NAME}.tags": ["ops", "database"],
            f"{NAME}.updated_at": 1772438400.0,
            f"{NAME}.memory_type": "decision",
            f"{NAME}.export_source": "workshop",
        },
        created_at=1772352000125,
    )
    assert second == Record(
        agent_id=AGENT,
        content="Deploys need two approvals",
        metadata={f"{NAME}.content_hash": "aa02"},
        created_at=1772352000000,
    )
    assert third == Record(
        agent_id=AGENT,
        content="Only the text of the time is left",
        metadata={"agent_id": "ops bot"},
        created_at=1772352000000,
    )
    assert lost == Flaw("memories[3]", "has no text in content")


def test_lines_of_memories_are_read_one_by_one() -> None:
    assert read(NAME, '{"content": "a"}\n{"content": 7}\n') == [
        Record(agent_id=AGENT, content="a"),
        Flaw("line 2", "has no text in content"),
    ]
