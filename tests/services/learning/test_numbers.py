"""Each number of learning, one row each: what it bounds, as it is seen from outside."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, get_args

import pytest

from app.domain.claim import MemoryType
from app.domain.json_types import Json
from app.domain.learned import PassKind, Proposal
from app.ports.language_model import Stage
from app.services.learning.classifying import Classification, Classified, classification, classified, topic
from app.services.learning.extracting import extraction, proposals, refused
from app.services.learning.passes import plan, readings
from app.services.learning.verifying import Correction, Drop, Verified, verdicts, verification
from app.services.models.request import ModelRequest
from tests.services.learning.conversations import MARK, answer, conversation, lengths, line, proposed, said

LONG = 32 * 1024
ASKED: Sequence[Stage] = ("extract", "detail", "verify", "classify")
SHORT = lengths(300, 160)
MANY = lengths(500, LONG)


def read_anew(messages: Sequence[tuple[str, int]], kind: PassKind) -> list[int]:
    """Return how many characters each pass of a kind reads that the one before it has not read."""
    sizes = dict(messages)
    return [sum(sizes[id_] for id_ in each.message_ids[each.context :]) for each in plan(messages) if each.kind == kind]


def overlaps(kind: PassKind) -> set[int]:
    return {each.context for each in plan(SHORT) if each.kind == kind and each.message_ids[0] != "m0"}


def kinds(messages: int) -> set[PassKind]:
    return {each.kind for each in plan(lengths(messages, 10))}


def parts(characters: int) -> list[int]:
    return [len(reading[0].content) for reading in readings([line("word " * (characters // 5))])]


def calls_of(messages: Sequence[tuple[str, int]], kind: PassKind) -> int:
    """Return how many calls the passes of a kind make."""
    sizes = dict(messages)
    return sum(
        len(
            list(
                readings(
                    [line("x" * sizes[id_], place) for place, id_ in enumerate(each.message_ids, 1)][each.context :]
                )
            )
        )
        for each in plan(messages)
        if each.kind == kind
    )


def shown_of_overlap() -> int:
    (reading,) = readings([line("before " * 1_000, 1, context=True), line("new", 2)])
    return len(reading[0].content.removeprefix("… "))


def taken(statement: str) -> int:
    return len(proposals(answer(said(statement, 1)), conversation("hello")))


def of_one_answer(statements: int) -> tuple[int, int]:
    """Return how many of different statements are taken, and how many are refused with a reason."""
    given = answer(*(said(f"The user has the card {number}.", 1) for number in range(statements)))
    lines = conversation("hello")
    return len(proposals(given, lines)), len([each for each in refused(given, lines) if each.reason])


def same(times: int) -> tuple[int, int]:
    given, lines = answer(*[said("The user lives in Oslo.", 1)] * times), conversation("I live in Oslo.")
    return len(proposals(given, lines)), len(refused(given, lines))


def of_ten_thousand() -> tuple[int, int]:
    """Return how many memories of an answer are taken, and how many are refused, once it was read by its form."""
    lines = conversation("hello")
    memories: list[Json] = [
        {"statement": f"The user has the card {number}.", "lines": [1], "day": ""} for number in range(10_000)
    ]
    given = extraction("extract", lines, MARK).schema.read({"memories": memories})
    return len(proposals(given, lines)), len(refused(given, lines))


def verdict_kinds() -> list[str]:
    memories = [proposed(f"The user has {place}.") for place in range(3)]
    given = Verified([1], [Correction(2, "time", "The user had 1.")], [Drop(3, "place", "It is not there.")])
    return [each.kind for each in verdicts(given, memories)]


def citing(lines: int) -> int:
    there = conversation(*("hello" for _ in range(20)))
    return len(proposals(answer(said("The user is new.", *range(1, lines + 1))), there))


def labelled(queries: Sequence[str], topic_: str = "user_city", number: int = 1) -> list[Proposal]:
    memories = [proposed(f"The user lives in town {place}.") for place in range(number)]
    given = [Classification(place + 1, "fact", topic_, list(queries)) for place in range(number)]
    return classified(Classified(given), memories)


def kept_queries(*queries: str) -> int:
    return len(labelled(queries)[0].search_queries)


def topics_shown(number: int) -> int:
    asked = classification(
        [proposed("The user lives in Oslo.")], [f"user_thing_{place}" for place in range(number)], MARK
    )
    return asked.messages[1].content.count("user_thing_")


def sharing_a_topic(number: int) -> int:
    return len([each for each in labelled([], number=number) if each.topic])


def request(stage: Stage) -> ModelRequest[Any]:
    lines, memories = conversation("I live in Oslo."), [proposed("The user lives in Oslo.")]
    made: dict[Stage, Callable[[], ModelRequest[Any]]] = {
        "extract": lambda: extraction("extract", lines, MARK),
        "detail": lambda: extraction("detail", lines, MARK),
        "verify": lambda: verification(memories, lines, MARK),
        "classify": lambda: classification(memories, [], MARK),
    }
    return made[stage]()


def rules(stage: Stage) -> int:
    """Return the tokens of a stage's rules: about one for four characters."""
    return len(request(stage).messages[0].content) // 4


def asked_of_long_messages(messages: int) -> int:
    """Return the characters that are shown beside memories that cite so many long messages."""
    lines = [line(f"{place} is a number. " * 2_000, place) for place in range(1, messages + 1)]
    memories = [proposed(f"The user has {each.number}.", each.message_id) for each in lines]
    return len(verification(memories, lines, MARK).messages[1].content)


def checks() -> list[str]:
    schema: dict[str, object] = dict(request("verify").schema.json_schema)
    found: object = schema
    for step in ("properties", "dropped", "items", "properties", "check", "enum"):
        assert isinstance(found, dict)
        found = found[step]
    assert isinstance(found, list)
    return found


def verify(memories: Sequence[Proposal]) -> ModelRequest[Any]:
    return verification(memories, [], MARK)


def classify(memories: Sequence[Proposal]) -> ModelRequest[Any]:
    return classification(memories, [], MARK)


def refuses(ask: Callable[[Sequence[Proposal]], object], number: int) -> bool:
    try:
        ask([proposed(f"The user has {place}.") for place in range(number)])
    except ValueError:
        return True
    return False


def in_common(characters: int) -> set[bool]:
    """Return whether each two parts of a message have between 50 and 200 characters in common."""
    text = "".join(f"{place:07} " for place in range(characters // 8))
    read = [reading[0].content for reading in readings([line(text)])]
    return {50 <= text.index(a) + len(a) - text.index(b) <= 200 for a, b in pairwise(read)}


def least_queries() -> object:
    found: object = dict(request("classify").schema.json_schema)
    for step in ("properties", "memories", "items", "properties", "queries", "minItems"):
        assert isinstance(found, dict)
        found = found[step]
    return found


def typed() -> list[Proposal]:
    kinds: Sequence[MemoryType] = get_args(MemoryType)
    given = [Classification(number, kind, "", []) for number, kind in enumerate(kinds, 1)]
    return classified(Classified(given), [proposed(f"The user has {place}.") for place in range(4)])


ROWS: list[tuple[str, Callable[[], object], object]] = [
    # What a model reads at once.
    (
        "a full pass reads 10,000 characters of short messages, with their headings",
        lambda: max(read_anew(SHORT, "extract")),
        8_000,
    ),
    ("a message as long as a pass is one of its own", lambda: read_anew(lengths(3, 9_960), "extract"), [9_960] * 3),
    ("two that fill a pass exactly are read together", lambda: read_anew(lengths(3, 4_960), "extract"), [9_920, 4_960]),
    ("two messages are read again by the next full pass", lambda: overlaps("extract"), {2}),
    ("two messages are read again by the next detail pass", lambda: overlaps("detail"), {2}),
    (
        "two messages from before the ingestion are read again",
        lambda: [(each.context, [*each.message_ids]) for each in plan([("m", 5)], lengths(4, 5))],
        [(2, ["m2", "m3", "m"])],
    ),
    ("of a message of the overlap 1,000 characters are read", shown_of_overlap, 1_000),
    ("eight messages have no detail pass", lambda: kinds(8), {"extract"}),
    ("nine messages have", lambda: kinds(9), {"extract", "detail"}),
    (
        "a detail pass reads 5,000 characters of short messages, with their headings",
        lambda: max(read_anew(SHORT, "detail")),
        4_000,
    ),
    ("a message of 10,000 characters is read whole", lambda: parts(10_000), [10_000]),
    (
        "a longer one in parts that are not",
        lambda: (len(parts(10_005)), max(parts(LONG)) <= 10_000, len(parts(LONG))),
        (2, True, 4),
    ),
    (
        "two parts of a message have 50 to 200 characters in common",
        lambda: in_common(30_000),
        {True},
    ),
    (
        "500 messages of 32 KiB: 500 full passes of 4 calls each",
        lambda: (len(read_anew(MANY, "extract")), calls_of(MANY, "extract")),
        (500, 2_000),
    ),
    ("and as many detail calls", lambda: (len(read_anew(MANY, "detail")), calls_of(MANY, "detail")), (500, 2_000)),
    (
        "300 messages of 160 characters: 6 full calls and 12 for details",
        lambda: (calls_of(SHORT, "extract"), calls_of(SHORT, "detail")),
        (6, 12),
    ),
    # What is taken of an answer.
    ("one answer proposes 30 memories", lambda: of_one_answer(30), (30, 0)),
    ("more than that are refused, with a reason", lambda: of_one_answer(33), (30, 3)),
    ("the same statement twenty times is one memory", lambda: same(20), (1, 19)),
    ("of 10,000 memories 30 are taken, and 10 are shown as refused", of_ten_thousand, (30, 10)),
    ("a memory has 1,000 characters", lambda: taken("x" * 1_000), 1),
    ("and no more", lambda: taken("x" * 1_001), 0),
    ("a memory cites 8 lines", lambda: citing(8), 1),
    ("and no more", lambda: citing(9), 0),
    (
        "eight words in a row of the prompt are the prompt's",
        lambda: taken("So Leave out greetings, thanks and small talk; what then"),
        0,
    ),
    ("seven words in a row are not", lambda: taken("So Leave out greetings, thanks and small talk again"), 1),
    # What is asked of proposals.
    (
        "verification knows eight checks",
        checks,
        ["entity", "object", "place", "time", "organisation", "completeness", "relation", "supported"],
    ),
    ("a verdict is one of three", verdict_kinds, ["pass", "correct", "drop"]),
    ("20 proposals are verified at once", lambda: [refuses(verify, number) for number in (20, 21)], [False, True]),
    ("20 proposals are classified at once", lambda: [refuses(classify, number) for number in (20, 21)], [False, True]),
    (
        "16,000 characters of messages are shown beside proposals, and what each line has beside its text",
        lambda: 14_000 < asked_of_long_messages(20) < 18_500,
        True,
    ),
    (
        "there are four types",
        lambda: sorted({made.type or "" for made in typed()}),
        ["event", "fact", "instruction", "task"],
    ),
    ("a model picks from 20 topics", lambda: topics_shown(30), 20),
    ("a topic has 64 bytes", lambda: topic("a_" + "a" * 62), "a_" + "a" * 62),
    ("and no more", lambda: (topic("a_" + "a" * 63), topic("é_" + "é" * 31)), (None, None)),
    ("three memories of one answer may share a topic", lambda: sharing_a_topic(3), 3),
    ("four may not", lambda: sharing_a_topic(4), 0),
    ("a model is told to write 3 queries at least", least_queries, 3),
    ("five queries are kept", lambda: kept_queries("one", "two", "three", "four", "five"), 5),
    ("and no more", lambda: kept_queries("one", "two", "three", "four", "five", "six"), 5),
    ("a query has 200 characters", lambda: kept_queries("x" * 200), 1),
    ("and no more", lambda: kept_queries("x" * 201), 0),
    # What it costs.
    ("tokens of an answer", lambda: [request(stage).max_tokens for stage in ASKED], [3_000, 3_000, 2_500, 3_000]),
    ("rules of at most 600 tokens", lambda: [rules(stage) <= 600 for stage in ASKED], [True] * 4),
]


@pytest.mark.parametrize(("measured", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_a_number_is_as_it_is_written(measured: Callable[[], object], expected: object) -> None:
    assert measured() == expected
