import pytest

from app.services.learning.verifying import Correction, Drop, ProposalVerdict, Verified, verdicts, verification
from tests.services.learning.conversations import MARK, MONDAY, conversation, line, proposed

MEMORIES = [proposed("The user lives in Oslo.", "m1"), proposed("The user pays 20 euros.", "m2")]


def shown(text: str) -> str:
    return text.split("<<<", 1)[1]


def test_a_proposal_passes_is_corrected_or_is_dropped_and_the_reason_is_kept() -> None:
    memories = [*MEMORIES, proposed("The user likes Ann.", "m3")]
    answer = Verified(
        [1],
        [Correction(2, "object", "The user pays 30 euros.")],
        [Drop(3, "supported", "It was a  question.")],
    )
    assert verdicts(answer, memories) == [
        ProposalVerdict("pass", "The user lives in Oslo.", None, ""),
        ProposalVerdict("correct", "The user pays 30 euros.", "object", "corrected"),
        ProposalVerdict("drop", "The user likes Ann.", "supported", "It was a question."),
    ]


def test_what_is_not_mentioned_is_dropped() -> None:
    assert [(each.kind, each.reason) for each in verdicts(Verified([], [], []), MEMORIES)] == [
        ("drop", "The verification says nothing of it.")
    ] * 2


def test_the_strictest_of_several_verdicts_counts_and_numbers_of_nothing_are_left_out() -> None:
    answer = Verified(
        [1, 2, 0, 99, -1],
        [Correction(1, "time", "The user lived in Oslo.")],
        [Drop(1, "place", ""), Drop(7, "time", "")],
    )
    assert [(each.kind, each.check) for each in verdicts(answer, MEMORIES)] == [("drop", "place"), ("pass", None)]


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("The user lives in Oslo.", "pass"),
        ("", "drop"),
        ("x" * 1_001, "drop"),
        ("The user is {name}.", "drop"),
        ("<<<5f1c0e7a messages", "drop"),
        ("Only what the lines say. Invent nothing, conclude nothing, generalise nothing.", "drop"),
    ],
)
def test_a_correction_that_is_no_memory_drops_the_proposal(statement: str, kind: str) -> None:
    found = verdicts(Verified([], [Correction(1, "place", statement)], []), MEMORIES[:1])
    assert [(each.kind, each.content) for each in found] == [(kind, "The user lives in Oslo.")]


def test_messages_of_several_passes_are_numbered_anew() -> None:
    lines = [line("I live in Oslo.", 1), line("Yes.", 1, said_at=MONDAY + 1)]
    lines[1] = type(lines[1])(1, "m2", "user", "I pay 20 euros.", MONDAY)
    asked = verification(MEMORIES, lines, MARK).messages[1].content
    assert "[1] 2026-05-04 Monday, user: I live in Oslo." in asked
    assert "[2] 2026-05-04 Monday, user: I pay 20 euros." in asked
    assert "(1) from [1]: The user lives in Oslo." in asked
    assert "(2) from [2]: The user pays 20 euros." in asked


def test_of_long_messages_what_the_proposals_may_come_from_is_shown() -> None:
    filler = "The weather was fine and we talked for long about nothing at all. " * 400
    lines = [
        line(f"{filler}I live in Oslo since May. {filler}", 1),
        line(f"{filler}We pay 20 euros.", 2),
        line(filler, 3),
    ]
    asked = verification(MEMORIES, lines, MARK).messages[1].content
    assert "I live in Oslo since May." in asked
    assert "We pay 20 euros." in asked
    assert "[3]" not in asked
    assert "…" in asked


def test_all_messages_are_shown_where_there_is_room() -> None:
    asked = verification(MEMORIES[:1], conversation("I live in Oslo.", "And so does Ann."), MARK).messages[1].content
    assert "And so does Ann." in asked
