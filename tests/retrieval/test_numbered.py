"""What is told of the thing that a query names by its number comes first: "server 2" is not "server 3"."""

import pytest

from app.retrieval.channels.numbers import Numbers
from app.retrieval.fusion import Fusion
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.terms import terms
from tests.retrieval.pools import candidate, pool

SERVER = "What is the latency of server 2?"


def scored(question: str, text: str) -> float:
    query = ParsedQuery(question, terms(question))
    return Numbers().score(pool(candidate("a", text)), query, {"a": 0.0}).get("a", 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "server 2",
        "SERVERS 2, 3 and 4",
        "servers 1, 2",
        "servers 1/2",
        "the 2nd server",
        "server 2.1",
        "Server-2",
        "server #2",
        "server no. 2",
        "the server (2)",
        "In phase 1 the latency of server 2 is 30 ms, that of server 3 is 20 ms",
    ],
)
def test_a_memory_is_about_the_thing_of_the_number(text: str) -> None:
    assert scored(SERVER, text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "server 3",
        "server 20",
        "server 2b",
        "server 3 in phase 2",
        "two servers",
        "a server for 2 ms",
        "a server. 2 people",
        "server 30ms",
        "nothing of that, 2",
        "a service 2",
        "serverless functions 2",
        "",
    ],
)
def test_a_memory_of_another_thing_is_not_though_it_has_the_number(text: str) -> None:
    assert scored(SERVER, text) == 0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What colour has item number 0?", "fact 0-0: item number 0 has the colour code 10"),
        ("What is the rent of the 4th floor?", "In the 5th house the rent of the 4th floor is 400 euros"),
        ("Welche Latenz hat Server 2?", "In Phase 3 hat Server 2 eine Latenz von 20 ms"),
        ("Was kostet die Wohnung im 2. Stock?", "Die Wohnung im 2. Stock kostet 800 Euro"),
        ("Vad kostar rum nr. 4?", "Rum nr. 4 kostar 900 kronor"),
        ("Which port does Python 3 use?", "The port that Python 3.12 uses is 9443"),
    ],
)
def test_numbers_stand_beside_nouns_in_any_language(question: str, text: str) -> None:
    assert scored(question, text) == 1


def test_of_two_things_that_are_asked_for_one_counts_half() -> None:
    question = "What is the accuracy of model 1 in run 3?"
    assert scored(question, "In run 3 the accuracy of model 1 is 91 percent") == 1
    assert scored(question, "In run 4 the accuracy of model 1 is 96 percent, for 3 epochs") == 0.5


@pytest.mark.parametrize(
    "query", ["What is the latency?", "who comes at 4?", "What is on 4 May 2026?", "Who is on May 4?", ""]
)
def test_a_query_that_names_nothing_by_its_number_asks_for_no_number(query: str) -> None:
    assert scored(query, "The latency of server 2 at 4 on May 4 of 2026") == 0


def ranked(question: str, *contents: str) -> list[str]:
    """Rank memories that match equally well by words and by meaning, the newest last."""
    words = terms(question)
    told = [candidate(str(n), text, happened_at=n, words=range(len(words))) for n, text in enumerate(contents)]
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
