"""The rule about content that should not be kept: what is refused, what is masked, and what stays as it is."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.adapters.local.sensitive_detector import PatternDetector
from app.domain.errors import SensitiveContent
from app.domain.memory import NewMemory
from app.domain.sensitive import LABELS, Handling, SensitiveSpan
from app.services.tenant.screening import Screening
from tests.support.secrets import BASE64, CARD, FORMS, ORDINARY, TOKEN

DETECTOR = PatternDetector(LABELS)


@dataclass
class Counted:
    """What was counted."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, kind: str, handling: str, times: int) -> None:
        self.found[kind, handling] += times


def screening(handling: Handling, counted: Counted | None = None) -> Screening:
    return Screening(handling, DETECTOR, counted or Counted())


PIECES = st.sampled_from(
    [*(content for _, content in FORMS.values()), *LABELS.values(), " ", "\n", "-", "\\n", "@", "://a:"]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join)


@given(TEXTS)
@example(f"{TOKEN}-{CARD} x {CARD}")
def test_a_masked_text_has_nothing_that_should_not_be_kept_and_is_masked_once(text: str) -> None:
    masked = screening("mask").text(text)
    assert DETECTOR.find(masked) == []
    assert screening("mask").text(masked) == masked
    if not DETECTOR.find(text):
        assert masked == text


VALUES = st.recursive(
    TEXTS | st.integers() | st.just(int(CARD)) | st.none() | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
async def test_a_masked_value_keeps_its_form_and_nothing_that_should_not_be_kept(value: Any) -> None:
    masked = await screening("mask").of(value, "value")
    assert await screening("refuse").of(masked, "value") is masked
    assert await screening("mask").of(masked, "value") is masked
    assert type(masked) is type(value) or isinstance(value, int | float)
    counted = Counted()
    assert await screening("count", counted).of(value, "value") is value
    assert bool(counted.found) == (masked is not value)


@pytest.mark.parametrize("text", ORDINARY)
async def test_what_has_nothing_is_the_same_object(text: str) -> None:
    memory = NewMemory(f"x{text}", {"a": [text, 1, None]})
    assert await screening("refuse").of(memory) is memory
    assert await screening("mask").of(memory) is memory


@pytest.mark.parametrize("number", [int(CARD), float(CARD), -int(CARD), -float(CARD)])
async def test_a_card_is_found_in_whatever_number_it_comes_as(number: float) -> None:
    with pytest.raises(SensitiveContent):
        await screening("refuse").of({"card": number}, "metadata")
    assert await screening("mask").of([number, 4.5, float("inf")], "value") == ["[card]", 4.5, float("inf")]


async def test_a_refusal_names_each_field_with_the_kind_and_never_the_content() -> None:
    counted = Counted()
    memory = NewMemory(f"use {TOKEN}", {"cards": [{"n": int(CARD)}], "note": "fine", TOKEN: "x"})
    with pytest.raises(SensitiveContent) as refusal:
        await screening("refuse", counted).of(memory)
    told = {error.field: error.message for error in refusal.value.errors}
    assert told == {
        "content": "has a token, which is not kept",
        "metadata.cards.0.n": "has a card number, which is not kept",
        "metadata.[token]": "has a token, which is not kept",
    }
    assert TOKEN not in refusal.value.detail
    assert CARD not in refusal.value.detail
    assert counted.found == {("token", "refuse"): 2, ("card", "refuse"): 1}


async def test_a_label_takes_the_place_in_every_field_and_the_hash_is_that_of_the_labels() -> None:
    memory = NewMemory(f"use {TOKEN} today", {"cards": [{"n": int(CARD)}]})
    masked = await screening("mask").of(memory)
    assert masked == NewMemory("use [token] today", {"cards": [{"n": "[card]"}]})
    assert masked.request_hash == NewMemory("use [token] today", {"cards": [{"n": "[card]"}]}).request_hash


@pytest.mark.parametrize(
    "memory", [NewMemory("x", {}, session_id=TOKEN), NewMemory("x", {TOKEN: 1})], ids=["session", "key"]
)
async def test_what_names_something_is_refused_where_it_would_be_masked(memory: NewMemory) -> None:
    with pytest.raises(SensitiveContent):
        await screening("mask").of(memory)
    assert await screening("count").of(memory) is memory


async def test_nobody_is_refused_who_is_not_there() -> None:
    absent = screening("refuse").without_caller()
    assert await absent.of(f"use {TOKEN}", "text") == "use [token]"
    assert await absent.of(NewMemory("x", {}, session_id=TOKEN)) == NewMemory("x", {}, session_id=TOKEN)
    assert screening("count").without_caller().handling == "count"


async def test_a_text_of_json_stays_one() -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{BASE64}\n-----END PRIVATE KEY-----"
    text = json.dumps({"n": int(CARD), "key": key, "kept": 1})
    masked = await screening("mask").of(text, "content")
    assert json.loads(masked) == {"n": "[card]", "key": "[private key]", "kept": 1}


async def test_the_notes_of_a_request_tell_what_was_done() -> None:
    rule = screening("mask")
    await rule.of(f"{TOKEN} and {TOKEN} and {CARD}", "content")
    assert rule.note.sensitive_content == "masked;token=2, masked;card=1"


@dataclass
class Watched:
    """A detector that notes the most characters that were looked at in the event loop before others had their turn."""

    since: int = 0
    most: int = 0
    turns: int = 0
    loop: int = field(default_factory=threading.get_ident)

    def find(self, text: str) -> Sequence[SensitiveSpan]:
        if threading.get_ident() == self.loop:
            self.since += len(text)
            self.most = max(self.most, self.since)
        return DETECTOR.find(text)

    async def others(self) -> None:
        while True:
            self.since = 0
            self.turns += 1
            await asyncio.sleep(0)


def conversation() -> list[dict[str, str]]:
    return [{"content": f"{number} {TOKEN if number == 30 else ''} {'tea ' * 2000}"} for number in range(60)]


def small_things() -> dict[str, list[list[str]]]:
    return {"things": [[f"{number} is {TOKEN if number == 30 else 'no token'}"] for number in range(10_000)]}


@pytest.mark.parametrize("made", [conversation, small_things])
@pytest.mark.parametrize("handling", ["count", "mask"])
async def test_others_have_their_turn_while_what_is_long_is_looked_at_and_masked(
    handling: Handling, made: Callable[[], Any]
) -> None:
    detector = Watched()
    others = asyncio.create_task(detector.others())
    kept = await Screening(handling, detector).of(made(), "messages")
    others.cancel()
    assert (TOKEN in str(kept)) is (handling == "count")
    assert detector.most < 100_000


@pytest.mark.parametrize("thing", [[0], {"a": [0]}, "a bit of text"], ids=["list", "object", "text"])
async def test_others_have_their_turn_while_many_small_things_are_gone_through(thing: Any) -> None:
    detector = Watched()
    others = asyncio.create_task(detector.others())
    await Screening("count", detector).of({"things": [thing] * 20_000}, "metadata")
    others.cancel()
    assert detector.turns > 20
