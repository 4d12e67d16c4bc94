"""What should not be kept is found whole, and nothing else is."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.adapters.local.sensitive_detector import PatternDetector
from app.domain.sensitive import LABELS, SensitiveKind
from tests.support.secrets import BASE64, CARD, FORMS, ORDINARY, TOKEN, WITHIN

KINDS: tuple[SensitiveKind, ...] = get_args(SensitiveKind)
DETECTOR = PatternDetector(KINDS)
AROUND = ["{}", "It is {}", "({}), I think", "key={}\nnext line", '"{}"', "a {} b"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", AROUND)
def test_each_form_is_found_from_its_first_character_to_its_last(form: str, around: str) -> None:
    kind, content = FORMS[form]
    before, after = around.split("{}")
    (span,) = DETECTOR.find(around.format(content))
    assert (span.kind, span.start, span.end) == (kind, len(before), len(before) + len(content)), after


@pytest.mark.parametrize("form", WITHIN)
def test_what_only_its_place_makes_a_secret_is_found_alone(form: str) -> None:
    kind, around, content = WITHIN[form]
    text = around.format(content)
    assert [(span.kind, text[span.start : span.end]) for span in DETECTOR.find(text)] == [(kind, content)]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_has_nothing_that_is_found(text: str) -> None:
    assert DETECTOR.find(text) == []


def test_of_a_private_key_that_was_cut_off_nothing_is_left() -> None:
    text = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BASE64}\n{BASE64[:20]}. It is his."
    (span,) = DETECTOR.find(text)
    assert text[span.end :] == ". It is his."


def test_only_the_kinds_that_were_asked_for_are_looked_for() -> None:
    assert PatternDetector(["card"]).find(f"{TOKEN} {CARD}") == DETECTOR.find(f"{TOKEN} {CARD}")[1:]
    assert PatternDetector([]).find(TOKEN) == []


def test_several_in_one_text_are_found_each_once_and_in_order() -> None:
    text = " and ".join(content for _, content in FORMS.values() if "BEGIN" not in content)
    found = DETECTOR.find(text)
    assert [text[span.start : span.end] for span in found] == [
        content for _, content in FORMS.values() if "BEGIN" not in content
    ]


def test_no_label_is_longer_than_the_shortest_content_of_its_kind() -> None:
    shortest = {kind: min(len(content) for of, content in FORMS.values() if of == kind) for kind, _ in FORMS.values()}
    assert all(len(LABELS[kind]) <= length for kind, length in shortest.items())


PIECES = st.sampled_from([*(content for _, content in FORMS.values()), *LABELS.values(), " ", "\n", "-", "@", "://a:"])


@given(st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join))
@example(f"{TOKEN}{TOKEN}")
def test_what_is_found_is_in_order_and_never_overlaps(text: str) -> None:
    spans = DETECTOR.find(text)
    assert all(span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))
