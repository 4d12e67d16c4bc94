"""A newer value goes before an older one of the same thing, and nothing else changes its place."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Query
from app.retrieval.channels.channel import ParsedQuery
from app.retrieval.fusion import Fusion
from app.retrieval.newer.asking import asking
from app.retrieval.newer.pairs import COMPARED, newer_values
from app.retrieval.newer.stated_values import MAX_READ
from app.retrieval.newer.values import values
from app.retrieval.newer.wording import stem, tokens
from app.retrieval.query.terms import terms
from app.retrieval.search import Search
from app.retrieval.succession import handed_on, steps
from tests.retrieval.pools import candidate, pool

DATA = Path(__file__).parents[2] / "bench" / "quality" / "updates"
ASKED = "How many open issues does the billing service have?"
OLD = "The billing service has 42 open issues, so I plan a bug bash."
NEW = "We fixed a lot, and the billing service has 17 open issues."


def compared(question: str, old: str, new: str, **fields: object) -> bool:
    """Tell whether the newer of two equally good memories is found to change the value of the older."""
    older = candidate("old", old, happened_at=1)
    newer = candidate("new", new, **({"happened_at": 2} | fields))
    return newer_values(ParsedQuery(question), [older, newer], {"old": 1.0, "new": 1.0}) == {"old": ["new"]}


def pairs(name: str) -> Iterator[tuple[str, str, str]]:
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        made = json.loads(line)
        turns = {turn["id"]: f"user: {turn['text']}" for turn in made["turns"]}
        for question in made["questions"]:
            number = question["qid"].rsplit("-", 1)[1]
            yield question["question"], turns[f"{number}-old"], turns[f"{number}-new"]


def searched(query: str, *contents: str) -> Search:
    words = terms(query)
    made = [candidate(str(n), text, happened_at=n, words=range(len(words) - n)) for n, text in enumerate(contents)]
    found = dict.fromkeys(range(len(words)), 1)
    return Search(Fusion(ParsedQuery(query, words), pool(*made, found=found, memories=20)), [])


def test_of_turns_that_hide_a_changed_value_nearly_all_are_seen_through() -> None:
    found = [compared(*pair) for pair in pairs("values.jsonl")]
    assert len(found) == 80
    assert sum(found) >= 76


def test_of_turns_that_only_look_alike_hardly_any_are_taken_for_a_change() -> None:
    found = [compared(*pair) for pair in pairs("apart.jsonl")]
    assert len(found) == 74
    assert sum(found) <= 2


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("What is the p95 latency of search?", "p95 latency of search is 480 ms", "p95 latency of search is 190 ms"),
        ("What does the pro plan cost?", "The pro plan costs $29", "The pro plan costs $35"),
        ("Which port does staging use?", "staging uses port 8081", "staging uses port 9443"),
        ("When is the code freeze?", "The code freeze is on March 14", "The code freeze was moved to March 21"),
        ("When is the code freeze?", "The code freeze is on Monday", "The code freeze is on Thursday"),
        ("What time is the yoga class?", "The yoga class is at 18:00", "The yoga class is at 19:30"),
        ("How many hens do we have?", "We have three hens", "We have five hens"),
        ("Who leads the migration?", "Hanna leads the migration", "Oskar leads the migration"),
        ("churn rate basic plan", "The churn rate of the basic plan is 6%", "The churn rate of the basic plan is 4%"),
        ("Wie viele Mitglieder hat der Verein?", "Der Verein hat 140 Mitglieder", "Der Verein hat 185 Mitglieder"),
        ("Hur många medlemmar har klubben?", "Klubben har 140 medlemmar", "Klubben har 185 medlemmar"),
    ],
)
def test_a_later_value_of_the_same_thing_changes_the_earlier(question: str, old: str, new: str) -> None:
    assert compared(question, old, new)
    assert not compared(question, old, old)


@pytest.mark.parametrize(
    "new",
    [
        "The shipping service has 17 open issues.",
        "The billing service has 17 closed tickets.",
        "The billing service had few, there were 17 open issues.",
        "My goal is to get the billing service to 17 open issues.",
        "Does the billing service have 17 open issues?",
        "She said that her billing service has 17 open issues.",
        "The billing service has 42 open issues, I counted again.",
        "The billing service has 17 MB of logs on open issues.",
        "```\nthe billing service has 17 open issues\n```",
        "A word about the billing service: it has few open issues.",
    ],
)
def test_what_is_of_something_else_or_not_settled_changes_nothing(new: str) -> None:
    assert compared(ASKED, OLD, NEW)
    assert not compared(ASKED, OLD, new)


@pytest.mark.parametrize(
    "question",
    [
        "How many open issues did the billing service have?",
        "How has the number of open issues of the billing service changed?",
        "How do I fix open issues of the billing service?",
        "Why does the billing service have so many open issues?",
        "What is the difference between the open issues of both services?",
        "Who?",
        "",
    ],
)
def test_a_question_that_asks_for_no_current_value_changes_no_order(question: str) -> None:
    assert not compared(question, OLD, NEW)


def test_what_was_said_earlier_or_by_somebody_else_or_matches_far_worse_changes_nothing() -> None:
    assert not compared(ASKED, OLD, NEW, happened_at=0)
    assert not compared(ASKED, OLD, NEW, metadata={"speaker": "Ann"})
    assert not compared(ASKED, OLD, NEW, superseded=True)
    assert not compared(ASKED, OLD, NEW, expired=True)
    assert not compared(ASKED, OLD, NEW, added=True)
    older, newer = candidate("old", OLD, happened_at=1), candidate("new", NEW, happened_at=2)
    assert newer_values(ParsedQuery(ASKED), [older, newer], {"old": 1.0, "new": 0.4}) == {}
    assert newer_values(ParsedQuery(ASKED), [newer, older], {"old": 1.0, "new": 1.0}) == {}


def test_a_code_in_the_query_is_in_what_changes_the_value() -> None:
    question, old = "When is the test of class 3C?", "Class 3C has its test on 30 November"
    assert compared(question, old, "Class 3C has its test on 2 December")
    assert not compared(question, old, "Class 3A has its test on 2 December")


def test_another_day_or_month_than_the_query_names_changes_nothing() -> None:
    question, old = "When does the gym open on Sunday?", "The gym opens at 9:00 on Sunday"
    assert compared(question, old, "The gym opens at 10:00 on Sunday")
    assert not compared(question, old, "The gym opens at 8:00 on Saturday")


def test_of_three_values_the_last_comes_first_and_the_others_follow() -> None:
    search = searched(ASKED, OLD, NEW, "By now the billing service has 9 open issues.")
    assert [one.id for one in search.ranking] == ["2", "1", "0"]
    entries = [search.entry(one, explain=True) for one in search.ranked(Query(ASKED))]
    scores = [entry.score for entry in entries]
    assert scores[0] == scores[1] == max(scores)
    assert all(0 <= score <= 1 for score in scores)
    for entry in entries:
        assert sum(finding.weighted for finding in entry.findings) == pytest.approx(entry.score)
    assert [finding.channel for finding in entries[0].findings][-1] == "succession"
    assert "succession" not in [finding.channel for finding in entries[2].findings]


def test_what_compares_with_nothing_keeps_its_place_and_score() -> None:
    search = searched(ASKED, OLD, "The shipping service has 17 open issues.", "Nothing of that.")
    assert [one.id for one in search.ranking] == ["0", "1", "2"]
    assert search.fusion.changed == {}


def test_only_the_beginning_of_the_best_candidates_is_read() -> None:
    assert not compared(ASKED, OLD, "x" * MAX_READ + "\n" + NEW)
    filler = [candidate(f"f{n}", "nothing", happened_at=0) for n in range(COMPARED - 1)]
    best = [candidate("old", OLD, happened_at=1), *filler, candidate("new", NEW, happened_at=2)]
    assert newer_values(ParsedQuery(ASKED), best, {one.id: 1.0 for one in best}) == {}


_SAID = st.lists(st.sampled_from([OLD, NEW, "the billing service has 9 open issues", "an owl"]), max_size=9)


@given(contents=_SAID, moments=st.randoms(use_true_random=False), scores=st.data())
def test_each_value_is_changed_by_a_later_one_that_was_ranked_behind_it(
    contents: list[str], moments: st.DrawFn, scores: st.DataObject
) -> None:
    order = list(range(len(contents)))
    moments.shuffle(order)  # type: ignore[attr-defined]
    ranked = [candidate(str(n), text, happened_at=order[n]) for n, text in enumerate(contents)]
    own = {one.id: scores.draw(st.floats(0, 1)) for one in ranked}
    ranked.sort(key=lambda one: -own[one.id])
    changed = newer_values(ParsedQuery(ASKED), ranked, own)
    place, when = {one.id: n for n, one in enumerate(ranked)}, {one.id: one.happened_at for one in ranked}
    both = [(older, newer) for older, later in changed.items() for newer in later]
    for older, newer in both:
        assert place[older] < place[newer]
        assert when[older] < when[newer]
    after = handed_on(own, changed)
    assert max(after.values(), default=0) == max(own.values(), default=0)
    assert all(after[newer] >= after[older] for older, newer in both)
    assert all(steps(changed)[newer] > steps(changed).get(older, 0) for older, newer in both)
    assert all(after[id_] == own[id_] for id_ in own.keys() - {newer for _, newer in both})


@pytest.mark.parametrize(
    ("text", "kind", "read"),
    [
        ("1,200 calls", "number", "1200"),
        ("250ms", "duration", "250"),
        ("78 percent", "share", "78"),
        ("€890", "money", "890"),
        ("on 5 April 2024", "day", "4-5"),
        ("the 5th of April", "day", "4-5"),
        ("at 14:15", "time", "14:15"),
        ("version 3.0.1", "number", "3.0.1"),
    ],
)
def test_a_value_is_read_with_its_kind(text: str, kind: str, read: str) -> None:
    assert [(each.kind, each.text) for each in values(tokens(text.lower()))] == [(kind, read)]


def test_forms_of_a_word_compare_equal() -> None:
    for forms in (
        ["merge", "merges", "merged", "merging"],
        ["stop", "stopped"],
        ["sister", "sister's"],
        ["study", "studies"],
    ):
        assert len({stem(form) for form in forms}) == 1


def test_a_query_tells_what_it_asks_for() -> None:
    asked = asking("How many project cards are in my gallery using Bootstrap 5.3.0?")
    assert asked is not None
    assert asked.counted == {"project", "card"}
    assert asked.kinds == {"number"}
    assert asked.given == {"5.3.0"}
