"""What is told of one numbered thing takes no place of what is told of another: "server 2" is not "server 3"."""

import pytest

from app.retrieval.channels.channel import ParsedQuery
from app.retrieval.fusion import Fusion
from app.retrieval.newer.numbered import has_numbers, numbers_asked
from app.retrieval.newer.pairs import newer_values
from app.retrieval.query.terms import terms
from tests.retrieval.pools import candidate, pool


def displaced(question: str, old: str, new: str) -> bool:
    """Tell whether the newer of two equally good memories goes before the older."""
    told = [candidate("old", old, happened_at=1), candidate("new", new, happened_at=2)]
    return newer_values(ParsedQuery(question), told, {"old": 1.0, "new": 1.0}) == {"old": ["new"]}


SERVER, ROOM = "What is the latency of server 2?", "what is the rent of room 4?"
MODEL = "what is the accuracy of model 1?"


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            SERVER,
            "In phase 2 the latency of server 2 is 20 ms",
            "In phase 2 the latency of server 3 is 30 ms",
        ),
        (
            MODEL,
            "Sprint 1: the accuracy of model 1 is 91 percent",
            "Sprint 1: the accuracy of model 6 is 96 percent",
        ),
        (
            MODEL,
            "Run 1-1: the accuracy of model 1 is 91 percent",
            "Run 1-6: the accuracy of model 6 is 96 percent",
        ),
        (
            ROOM,
            "In room 4 of building 4 the rent is 400 euros",
            "In room 5 of building 4 the rent is 500 euros",
        ),
        (
            "What colour has item number 0?",
            "fact 0-0: item number 0 has the colour code 10",
            "fact 0-1: item number 1 has the colour code 11",
        ),
        (
            "Which colour code has number 0?",
            "fact 0-0: item number 0 has the colour code 10",
            "fact 0-1: item number 1 has the colour code 11",
        ),
        (
            "What is the latency of server #2?",
            "Phase 2: the latency of server #2 is 20 ms",
            "Phase 2: the latency of server no. 3 is now 30 ms",
        ),
        (
            "What is the latency of Server-2?",
            "Phase 2: the latency of Server-2 is 20 ms",
            "Phase 2: the latency of Server-3 is 30 ms",
        ),
        (
            "What is the rent of the 4th floor?",
            "In the 4th house the rent of the 4th floor is 400 euros",
            "In the 4th house the rent of the 5th floor is 500 euros",
        ),
        (
            "What is the accuracy of model 2?",
            "In sprint 2 the accuracy of model 2 is 91 percent",
            "In sprint 2 the accuracy of models 3, 4 and 5 is 96 percent",
        ),
        (
            "What is the accuracy of model 1 in run 3?",
            "In run 3 the accuracy of model 1 is 91 percent",
            "In run 4 the accuracy of model 1 is 96 percent, for 3 epochs",
        ),
        (
            "What is the accuracy of model 1?",
            "In run 1 the accuracy of model 1 is 91 percent",
            "In run 1 the accuracy of model 1b is 96 percent",
        ),
        (
            "Which bed is in room 4?",
            "In room 4 the bed costs 40 euros",
            "In room 5, 4 beds: each bed costs 50 euros now",
        ),
        (
            "Welche Latenz hat Server 2?",
            "In Phase 2 hat Server 2 eine Latenz von 20 ms",
            "In Phase 2 hat Server 3 jetzt eine Latenz von 30 ms",
        ),
        (
            "Who guards gate 2?",
            "In hall 2 Aldo guards gate 2.",
            "In hall 2 gate 3 is guarded by Mirko these days, gate 3 is no longer guarded by Aldo.",
        ),
    ],
)
def test_what_is_told_of_another_numbered_thing_changes_nothing(question: str, old: str, new: str) -> None:
    assert not displaced(question, old, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Where is the meeting?", "The meeting is in room 4", "The meeting is in room 5"),
        ("What is the timeout?", "The timeout is 20 s", "The timeout is 30 s"),
        ("Which version do we use?", "We use version 2", "We use version 3"),
        ("What is the latency?", "The latency of server 2 is 20 ms", "The latency of server 3 is 30 ms"),
        (SERVER, "The latency of server 2 is 20 ms", "The latency of server 2 is 30 ms"),
        (SERVER, "In phase 1 the latency of server 2 is 20 ms", "In phase 2 the latency of server 2 is 30 ms"),
        (SERVER, "The latency of server 2 is 20 ms", "The latency of server 2 is 30 ms, as that of server 3"),
        (SERVER, "The latency of server 2 is 20 ms", "The latency of servers 3 and 2 is 30 ms"),
        (SERVER, "The latency of server 2 is 20 ms", "Latency of server no. 2: now 30 ms"),
        (SERVER, "The latency of server 2 is 20 ms", "The latency of the server (2) is now 30 ms"),
        (
            "Which port does Python 3 use?",
            "The port that Python 3 uses is 8081",
            "The port that Python 3.12 uses is 9443",
        ),
        (
            "Which price has a timeout of 20 s?",
            "The timeout of 20 s has a price of 10 euros",
            "The timeout of 30 s has a price of 20 euros, that of 20 s one of 15 euros",
        ),
        (
            "Who guards gate 2?",
            "In hall 2 Aldo guards gate 2.",
            "In hall 2 gate 2 is guarded by Mirko these days, and no longer by Aldo.",
        ),
    ],
)
def test_a_correction_goes_before_what_it_corrects_whatever_numbers_stand_in_it(
    question: str, old: str, new: str
) -> None:
    assert displaced(question, old, new)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("server 2", True),
        ("SERVERS 2, 3 and 4", True),
        ("servers 1 to 2", True),
        ("the 2nd server", True),
        ("server 2.1", True),
        ("server 3", False),
        ("server 20", False),
        ("server 2b", False),
        ("server 3 in phase 2", False),
        ("two servers", None),
        ("a server for 2 ms", None),
        ("a server. 3 people", None),
        ("server 30ms", None),
        ("nothing of that, 2", None),
        ("", None),
    ],
)
def test_a_text_has_a_thing_by_its_number_or_another_or_none(text: str, has: bool | None) -> None:  # noqa: FBT001
    assert has_numbers(text, numbers_asked(SERVER)) is has


@pytest.mark.parametrize(
    "query",
    ["What is the latency?", "who comes at 4?", "What takes 20 s?", "What is on 4 May 2026?", "Who is on May 4?", ""],
)
def test_a_query_that_names_nothing_by_its_number_asks_for_no_number(query: str) -> None:
    assert numbers_asked(query) == {}


def ranked(question: str, *contents: str) -> list[str]:
    """Rank memories that match equally well by words and by meaning, the newest last."""
    words = terms(question)
    told = [
        candidate(str(n), text, happened_at=n, created_at=n, words=range(len(words))) for n, text in enumerate(contents)
    ]
    gathered = pool(*told, found=dict.fromkeys(range(len(words)), 1), cosines={one.id: 0.9 for one in told})
    return [one.content for one in Fusion(ParsedQuery(question, words), gathered).ranked]


@pytest.mark.parametrize("asked", [0, 1, 6, 19])
def test_of_twenty_things_that_match_equally_well_the_one_of_the_number_asked_for_comes_first(asked: int) -> None:
    rows = [f"Sprint {asked}: the accuracy of model {n} was 7{n} percent" for n in range(20)]
    assert ranked(f"what is the accuracy of model {asked}?", *rows)[0] == rows[asked]


def test_of_two_values_of_the_thing_asked_for_the_newer_comes_first_and_other_things_behind() -> None:
    rows = [f"In phase 2 the latency of server {n} is {value} ms" for n, value in ((2, 20), (3, 30), (2, 40), (4, 50))]
    assert ranked(SERVER, *rows)[:2] == [rows[2], rows[0]]


def test_without_a_number_in_the_query_the_newest_of_equals_comes_first() -> None:
    rows = ["The latency of server 2 was 20 ms", "The latency of server 3 was 30 ms"]
    assert ranked("What is the latency?", *rows) == rows[::-1]
