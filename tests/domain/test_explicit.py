"""What a memory states explicitly: the key of a fact is what its teller wrote, and no word of it is understood."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.claim import RELATION, Claim
from app.domain.explicit import about, read_explicit, read_fact
from app.domain.facts import Fact
from app.domain.learned import Learned
from tests.support.generation import examples


def claim(subject: str, predicate: str, said: str = "Oslo", *, single: bool = True) -> Claim:
    (claim,) = read_fact(Fact(subject, predicate, said, single=single)).claims
    return claim


def test_one_object_holds_of_what_is_told_as_single_and_else_all() -> None:
    assert claim("user", "lives in") == Claim("user/lives_in", "oslo", whole=True)
    assert claim("user", "likes", "Green tea", single=False) == Claim("user/likes/green tea", "green tea", whole=True)


@pytest.mark.parametrize(
    ("subject", "predicate"), [("User", "lives_in"), (" user ", "Lives  in"), ("user", "lives in.")]
)
def test_case_spaces_and_marks_make_no_other_key(subject: str, predicate: str) -> None:
    assert claim(subject, predicate).key == "user/lives_in"


@pytest.mark.parametrize(
    ("one", "other"), [("Plan A", "Plan B"), ("user", "the user"), ("Order 17", "Order 18"), ("\u00e5sa", "asa")]
)
def test_other_words_make_another_subject(one: str, other: str) -> None:
    assert claim(one, "is").key != claim(other, "is").key


@pytest.mark.parametrize("odd", ["!!!", "-", "\U0001f355", "~", "/", "_", "~ /"])
def test_a_part_without_words_has_a_key_too(odd: str) -> None:
    key = claim(odd, odd, odd, single=False).key
    assert key.count("/") == 2
    assert "" not in key.split("/")
    assert not key.startswith(RELATION)


def test_a_text_states_nothing_and_waits_for_a_reader() -> None:
    stated = read_explicit({}, None, "I live in Oslo", None)
    assert (list(stated.claims), stated.type, stated.waits) == ([], "fact", True)


def test_what_was_learned_states_its_topic() -> None:
    stated = read_explicit({}, Learned(["m"], "home"), "The user lives in Oslo.", "fact")
    assert [each.key for each in stated.claims] == ["topic:home"]
    assert stated.waits
    assert list(read_explicit({}, Learned(["m"], "home"), "It rained.", "event").claims) == []


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).filter(str.strip)


@settings(max_examples=examples(200), deadline=None)
@given(texts, texts, texts, st.booleans())
def test_a_fact_is_found_by_what_it_was_told_with(subject: str, predicate: str, said: str, single: bool) -> None:  # noqa: FBT001
    key = claim(subject, predicate, said, single=single).key
    asked = about(subject, predicate)
    assert asked.subjects is not None
    assert f"{asked.subjects[0]}/{asked.relation}" == (key if single else key.rpartition("/")[0])
    assert key.count("/") == (1 if single else 2)
    assert not key.startswith(RELATION)
