"""What is known of one agent's memories: which are there, hold and are remembered for certain, and which may be."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from math import inf

from ulid import ULID

from app.domain.json_types import Json
from tests.simulation import holding
from tests.simulation.holding import Claim
from tests.simulation.operations import Delete, Erasure, Mark, Memory, Store, Text, ViolationError, certainly
from tests.simulation.statements import TOLD

Where = Mapping[str, Json]
"""The session or the shade that a recall asks for; it asks for one of them at most."""
ANYWHERE: Where = {}
_LAST_OF_ALL = "~"
"""Comes after every id."""


@dataclass(slots=True)
class Known:
    """Of one agent. Times are ticks."""

    _ticks: Iterator[int] = field(default_factory=lambda: count(1))
    _stores: dict[Text, list[Store]] = field(default_factory=dict)
    _texts: dict[str, list[Text]] = field(default_factory=dict)
    _numbers: dict[int, Store] = field(default_factory=dict)
    _memories: dict[str, Memory] = field(default_factory=dict)
    _ids: dict[Text, list[str]] = field(default_factory=dict)
    _erasures: list[Erasure] = field(default_factory=list)

    def tick(self) -> int:
        return next(self._ticks)

    def ids(self, *, deleted: bool = False) -> list[str]:
        """Return the ids that may exist, or those that are known not to."""
        return [id_ for id_, memory in self._memories.items() if (memory.gone < inf) == deleted]

    def text_of(self, id_: str) -> Text:
        return self._memories[id_].text

    @property
    def contents(self) -> list[str]:
        """Every content that was ever to be stored, oldest first."""
        return list(self._texts)

    def texts_of(self, content: str) -> list[Text]:
        """Return the texts of this content that were ever to be stored."""
        return self._texts.get(content, [])

    def deletes(self) -> list[Delete]:
        """Return every request to delete whose end is not known."""
        return [d for memory in self._memories.values() for d in memory.deletes if d.ended == inf]

    def existing(self, tick: int | None = None) -> list[str]:
        """Return the ids that certainly exist, and did at the tick."""
        return [id_ for id_ in self._memories if self._exists(id_, self.tick() if tick is None else tick)]

    def shown(self, began: int, id_: str, where: Where = ANYWHERE) -> bool:
        """Tell whether a recall that began then returns it for certain, if it is there and is what was asked for."""
        return self._is(id_, began, forgotten=False) and self._holds(self._claim(id_, began), began, where)

    def may_be_forgotten(self, id_: str) -> bool:
        """Tell whether it is not known for certain that it is remembered."""
        return not self._is(id_, self.tick(), forgotten=False)

    def _exists(self, id_: str, tick: float) -> bool:
        """Whether it is there for whoever asks from ``tick`` on: stored, and since then not even being deleted."""
        memory = self._memories[id_]
        return any(
            store.ended < tick
            and all(delete.void or delete.ended < store.began for delete in memory.deletes)
            and all(erasure.accepted < store.began for erasure in self._erasures)
            for store in memory.stores
        )

    def _is(self, id_: str, began: int, *, forgotten: bool, but: Mark | None = None) -> bool:
        """Whether it is forgotten, or is not, for certain since then; one request is left out."""
        memory = self._memories[id_]
        marks = [mark for mark in memory.marks if mark is not but]
        if not any(mark.forgotten for mark in marks):
            return not forgotten
        for store in self._stores[memory.text]:  # who stores what was forgotten, remembers it
            own = store.id == id_
            unknown = not store.acknowledged
            remembers = Mark(id_, began=store.began, ended=store.ended, forgotten=False)
            remembers.sure, remembers.changes = own and not unknown, own or unknown
            marks.append(remembers)
        return certainly(forgotten=forgotten, began=began, marks=marks)

    def _claim(self, id_: str, began: int) -> Claim | None:
        """What a memory states, if it states anything."""
        text = self._memories[id_].text
        said = TOLD.get(text.content)
        if said is None:
            return None
        place = (_made_at(id_) if text.occurred_at is None else text.occurred_at, id_)
        return Claim(text, said, place, place, self._exists(id_, began), id_)

    def _claims(self, key: str, began: int) -> list[Claim]:
        """All that may be there at some moment since then."""
        stated = [text for content, said in TOLD.items() if said.key == key for text in self.texts_of(content)]
        found = [
            self._claim(id_, began)
            for text in stated
            for id_ in self._ids.get(text, [])
            if self._memories[id_].gone >= began
        ]
        known = [claim for claim in found if claim is not None]
        made = (unknown(store) for text in stated for store in self._stores[text] if _may_be(store, began))
        return known + [claim for claim in made if claim is not None]

    def _holds(self, claim: Claim | None, began: int, where: Where = ANYWHERE) -> bool:
        """Whether a claim's memory is an entry for certain, if it is there, is asked for and is not forgotten."""
        if claim is None:
            return True

        def hidden(other: Claim) -> bool:
            remembered = other.id is None or self._is(other.id, began, forgotten=False)
            return remembered and self._passes(other, began, where) is False

        return holding.holds(claim, self._claims(claim.said.key, began), hidden)

    def _may_have_made_room(self, id_: str) -> bool:
        """Whether a memory may ever have been superseded, so that its content could be stored once more."""
        claim = self._claim(id_, 0)
        if claim is None or not claim.said.whole or claim.text.occurred_at is not None:
            return False
        return any(other.contradicts(claim) and other.may_be_after(claim) for other in self._claims(claim.said.key, 0))

    def _is_replaced(self, id_: str, began: int, where: Where = ANYWHERE) -> bool:
        """Whether a memory is no entry for certain: others say what holds in its place."""
        claim = self._claim(id_, began)
        if claim is None:
            return False
        claims = self._claims(claim.said.key, began)
        return holding.replaced(claim, claims, lambda other: self._passes(other, began, where) is True)

    def _passes(self, claim: Claim, began: int, where: Where) -> bool | None:
        """Whether the claim's memory passes a filter; None: nobody knows."""
        if "session" in where:
            return claim.text.session == where["session"]
        if "shade" not in where:
            return True
        shades = set() if claim.id is None else self._shades(claim.id, began)
        return where["shade"] in shades if len(shades) == 1 else None

    def _stored_over(self, store: Store, id_: str, began: int) -> list[int]:
        """Return what replaced a store's metadata for certain before a recall began."""
        stores = self._memories[id_].stores
        return [other.number for other in stores if other.ended < began and other.began > store.ended]

    def _shades(self, id_: str, began: int) -> set[int]:
        """Return the shades a memory may have had since then."""
        stores = self._stores[self.text_of(id_)]
        return {store.shade for store in stores if store.never == inf and not self._stored_over(store, id_, began)}

    def _memory(self, id_: str, text: Text) -> Memory:
        if id_ not in self._memories:
            self._memories[id_] = Memory(text)
            self._ids.setdefault(text, []).append(id_)
        memory = self._memories[id_]
        if memory.text != text:
            raise ViolationError(f"{id_} was {memory.text} and is now {text}")
        return memory


@lru_cache(maxsize=4096)
def _made_at(id_: str) -> int:
    """When a memory was made: its id says so."""
    return ULID.from_str(id_).milliseconds


def _may_be(store: Store, began: int) -> bool:
    """Whether a store may have made a memory whose id is not known."""
    return store.never >= began and (store.id is None or store.ended == inf)


def unknown(store: Store) -> Claim | None:
    """Return what a memory states that a store may have made, if that states anything."""
    text, said = store.text, TOLD.get(store.text.content)
    if said is None:
        return None
    first, last = (store.earliest, store.latest) if text.occurred_at is None else (text.occurred_at,) * 2
    return Claim(text, said, (first, ""), (last, _LAST_OF_ALL), certain=False, number=store.number)
