"""Composing costs little for usual entries, and is bounded for the largest, whatever they are made of."""

import random
from functools import partial

import pytest

from app.domain.memory import Memory, Scope
from app.domain.query import Entry
from app.services.answering.summary import summary
from bench.hostile import TEXTS
from tests.services.answering.made import Earlier, answer
from tests.support.cost import best, within

DAY = 86_400_000
NOW = 20_000 * DAY
QUERIES = (
    "Where do I live?",
    "How many days ago did we adopt the cat?",
    "What did we use before npm?",
    "Which database does staging run on?",
)
USUAL = (
    "I moved to Oslo last week. Still unpacking boxes.",
    "We adopted a cat today. Her name is Miso.",
    "Staging runs on PostgreSQL 16. Production is still on MySQL.",
    "The Marlow brochure has 16 pages. Paper is reserved at the printer.",
    "My sister Petra is coming over for Christmas with the twins. We need more chairs.",
    "Couriers come in by gate 7, code 4471#, never by the front door.",
    "In code reviews, list blocking problems first and skip style remarks. Never push to main.",
    "Dr. Hale said the meniscus is worn and running is off the table until spring.",
    "We got the flat on Elm Street. Our landlord is Mr. Okafor. Rent is 940 a month, due on the 1st.",
    "I went to the pride parade last Saturday and it was wonderful. Everyone was so kind.",
)
_WORDS = (
    *("alpha", "user", "moved", "yesterday", "the", "market", "Anna", "bought", "apples", "for", "party", "we", "use"),
    *("npm", "in", "Oslo", "my", "rent", "is", "900"),
)


def prose(size: int, seed: int) -> str:
    generator = random.Random(seed)
    text = ""
    while len(text) < size:
        text += " ".join(generator.choice(_WORDS) for _ in range(generator.randint(4, 14))).capitalize() + ". "
    return text[:size]


def cost(query: str, contents: list[str], former: str) -> float:
    entries = [
        Entry(id=str(n), content=text, metadata={}, score=0.9, created_at=NOW - n * DAY, occurred_at=NOW - n * DAY)
        for n, text in enumerate(contents)
    ]
    formers = {entry.id: [Earlier(former, NOW - 99 * DAY, NOW - 30 * DAY)] for entry in entries}
    relevance = {entry.id: 0.9 for entry in entries}
    return best(
        partial(answer, query, *entries, formers=formers, at=NOW, length="medium", relevance=relevance), tries=8
    )


@pytest.mark.parametrize("query", QUERIES)
def test_ten_usual_entries_cost_at_most_ten_milliseconds(query: str) -> None:
    assert within(cost(query, list(USUAL), "We use yarn."), 0.010)


@pytest.mark.parametrize("query", QUERIES)
def test_the_twenty_largest_entries_cost_at_most_a_tenth_of_a_second(query: str) -> None:
    assert within(cost(query, [prose(4_000, seed) for seed in range(20)], prose(4_000, 99)), 0.100)


@pytest.mark.parametrize("text", [*TEXTS, "short lines"])
def test_hostile_entries_cost_no_more(text: str) -> None:
    made = "a b.\n" * 2_000 if text == "short lines" else TEXTS[text](12_000)
    assert within(cost(QUERIES[2], [f"{made}{n}" for n in range(20)], made), 0.100)


@pytest.mark.parametrize("sentence", ["We adopted a cat today. ", "The cat came on 3 May 2026, yesterday, last week. "])
def test_many_days_of_what_is_asked_about_cost_no_more(sentence: str) -> None:
    assert within(cost(QUERIES[1], [sentence * 100] * 20, sentence * 100), 0.100)


def test_what_is_beyond_the_bounds_costs_nothing() -> None:
    many = [prose(40_000, seed) for seed in range(60)]
    assert within(cost(QUERIES[0], many, prose(40_000, 99)), 0.100)


def test_a_summary_of_many_large_memories_costs_at_most_four_tenths_of_a_second() -> None:
    memories = [
        Memory(
            id=str(n),
            scope=Scope("t", "a"),
            content=prose(4_000, n),
            metadata={},
            session_id=None,
            occurred_at=NOW - n * DAY,
            created_at=NOW,
            expires_at=None,
        )
        for n in range(200)
    ]
    assert within(best(partial(summary, memories), tries=2), 0.4)
