"""What corrects a statement goes before all copies of it: a message, and what was learned of it."""

import pytest

from app.retrieval.channels.channel import ParsedQuery
from app.retrieval.fusion import Fusion
from app.retrieval.newer.pairs import newer_values
from app.retrieval.pool import Candidate
from app.retrieval.query.terms import terms
from tests.retrieval.pools import candidate, pool

ASKED = "Which editor do I use now?"
QUERY = ParsedQuery(ASKED, terms(ASKED))
HELIX, ZED = "I use the Helix editor.", "I switched from Helix to Zed."
LEARNED_HELIX, LEARNED_ZED = "The user uses the Helix editor.", "The user switched from Helix to Zed."
COSINES = {"helix": 0.8, "helix learned": 0.75, "zed": 0.7, "zed learned": 0.4}


def said(name: str, content: str, at: int, *, for_model: bool, **fields: object) -> Candidate:
    message = {"message_id": name} if for_model else {}
    return candidate(name, content, session_id=name, happened_at=at, created_at=at, **(message | fields))


def learned(of: str, content: str, at: int, *, for_model: bool, **fields: object) -> Candidate:
    sources = {"sources": [of]} if for_model else {}
    whole = {"session_id": of, "happened_at": at, "created_at": at + 1} | sources | fields
    return candidate(f"{of} learned", content, **whole)


def ranked(*, for_model: bool) -> list[str]:
    told = pool(
        said("helix", HELIX, 0, for_model=for_model, words=(0, 1)),
        learned("helix", LEARNED_HELIX, 0, for_model=for_model, words=(0,)),
        said("zed", ZED, 10**9, for_model=for_model),
        learned("zed", LEARNED_ZED, 10**9, for_model=for_model),
        found={0: 2, 1: 1},
        cosines=COSINES,
    )
    return [one.id for one in Fusion(QUERY, told).ranked]


def test_a_recall_puts_a_correction_before_both_copies_though_it_is_near_the_lower_one_only() -> None:
    assert ranked(for_model=False) == ["zed", "helix", "helix learned", "zed learned"]


def test_with_a_model_what_was_learned_of_the_correction_comes_first_and_both_copies_behind_the_two() -> None:
    assert ranked(for_model=True) == ["zed learned", "zed", "helix learned", "helix"]


def changed(*best: Candidate, **scores: float) -> object:
    return newer_values(QUERY, best, {one.id: scores[one.id.split()[0]] for one in best})


@pytest.mark.parametrize("newer", [0.4, 0.6])
def test_of_two_statements_that_were_said_apart_each_is_compared_by_its_own_score(newer: float) -> None:
    best = [candidate("helix", HELIX, happened_at=0), candidate("again", HELIX, happened_at=1)]
    best.append(candidate("zed", ZED, happened_at=2))
    found = {"again": ["zed"]} | ({"helix": ["zed"]} if newer >= 0.5 else {})
    assert changed(*best, helix=1.0, again=0.7, zed=newer) == found


def test_what_was_learned_of_a_named_speaker_is_of_that_speaker() -> None:
    ann = candidate("helix", "Ann: I use the Helix editor.", message_id="m", metadata={"speaker": "Ann"})
    bob = candidate("zed", ZED, happened_at=2, metadata={"speaker": "Bob"})
    of_ann = candidate("helix learned", LEARNED_HELIX, sources=["m"])
    assert changed(ann, of_ann, bob, helix=1.0, zed=0.9) == {}
    by_ann = candidate("zed", ZED, happened_at=2, metadata={"speaker": "Ann"})
    assert changed(ann, of_ann, by_ann, helix=1.0, zed=0.9) == {"helix": ["zed"], "helix learned": ["zed"]}
