"""What one agent's callers did and were told, and whether an answer can be true.

Ticks order events: an operation came before another if it ended before the other began. What raised an error
happened or not; the first answer that shows which settles it for all later ones.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf

from app.domain.query import Entry

Text = tuple[str, str | None]
"""Content and session_id: what makes two memories of an agent one."""


class ViolationError(AssertionError):
    """An answer that no order of what was done explains."""


@dataclass(slots=True, eq=False)
class Store:
    """One request to store; ``number`` is in its metadata, so that an answer shows whose write it is."""

    number: int
    text: Text
    began: int
    ended: float = inf
    id: str | None = None
    """Known once it was acknowledged or seen: it happened."""
    never: float = inf
    """From then on known not to have happened, or to have been undone."""
    kept_out: bool = False
    """An erasure was in its way: at most it happened before that, in a run that was made again, and is erased."""

    @property
    def shade(self) -> int:
        """Something to filter on that changes when the same is stored again."""
        return self.number % 2


@dataclass(slots=True, eq=False)
class Delete:
    """One request to delete."""

    id: str
    began: int
    ended: float = inf
    void: bool = False
    """It failed, and what it should have deleted was seen later."""


@dataclass(slots=True, eq=False)
class Erasure:
    """One request to erase all there is."""

    began: int
    accepted: float = inf
    """From then on nothing is stored until it is done."""
    ended: float = inf
    """From then on its receipt is known."""


@dataclass(slots=True)
class _Memory:
    """All that is known of one id."""

    text: Text
    stores: list[Store] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    gone: float = inf
    """From then on known to be deleted."""


@dataclass(slots=True)
class History:
    """One agent's."""

    _ticks: Iterator[int] = field(default_factory=lambda: count(1))
    _stores: dict[Text, list[Store]] = field(default_factory=dict)
    _texts: dict[str, list[Text]] = field(default_factory=dict)
    _numbers: dict[int, Store] = field(default_factory=dict)
    _memories: dict[str, _Memory] = field(default_factory=dict)
    _ids: dict[Text, list[str]] = field(default_factory=dict)
    _erasures: list[Erasure] = field(default_factory=list)

    def tick(self) -> int:
        return next(self._ticks)

    def begin_store(self, number: int, text: Text) -> Store:
        store = self._numbers[number] = Store(number, text, self.tick())
        if text not in self._stores:
            self._stores[text] = []
            self._texts.setdefault(text[0], []).append(text)
        self._stores[text].append(store)
        return store

    def acknowledge_store(self, store: Store, id_: str) -> None:
        """Check, and keep, that a store returned this id."""
        memory = self._memory(id_, store.text)
        if memory.gone < store.began:
            raise ViolationError(f"store returned {id_}, which had been deleted before")
        others = [other for other in self._ids[store.text] if other != id_ and self._exists(other, store.began)]
        if others:
            raise ViolationError(f"store returned {id_}, but {others} had the same content and was not deleted")
        self._happened(store, id_)
        store.ended = self.tick()

    def fail(self, operation: Store | Delete) -> None:
        """Keep that an operation raised: nobody knows yet whether it happened."""
        operation.ended = self.tick()

    def begin_delete(self, id_: str) -> Delete:
        delete = Delete(id_, self.tick())
        self._memories[id_].deletes.append(delete)
        return delete

    def acknowledge_delete(self, delete: Delete) -> None:
        delete.ended = self.tick()
        memory = self._memories[delete.id]
        memory.gone = min(memory.gone, delete.ended)

    def refuse_store(self, store: Store) -> None:
        """Check, and keep, that a store was kept out by an erasure."""
        store.ended, store.kept_out = self.tick(), True
        if not any(erasure.ended > store.began for erasure in self._erasures):
            raise ViolationError(f"store {store.number} was kept out though nothing was being erased")

    def begin_erasure(self) -> Erasure:
        erasure = Erasure(self.tick())
        self._erasures.append(erasure)
        return erasure

    def accept_erasure(self) -> None:
        """Keep that an erasure is under way: one whose request had failed is the same, or was over before."""
        for erasure in self._erasures:
            erasure.accepted = min(erasure.accepted, self.tick())

    def finish_erasure(self, erasure: Erasure) -> list[str]:
        """Keep that the receipt is there; return the ids of all that it must have erased."""
        for other in self._erasures:
            if other.began <= erasure.began:
                other.ended = min(other.ended, self.tick())
        undone = {store for stores in self._stores.values() for store in stores if _undone(store, erasure)}
        for store in undone:
            store.never = min(store.never, erasure.ended)
        erased = [id_ for id_, memory in self._memories.items() if not undone.isdisjoint(memory.stores)]
        for id_ in erased:
            self._memories[id_].gone = min(self._memories[id_].gone, erasure.ended)
        return erased

    def ids(self, *, deleted: bool = False) -> list[str]:
        """Return the ids that may exist, or those that are known not to."""
        return [id_ for id_, memory in self._memories.items() if (memory.gone < inf) == deleted]

    def text_of(self, id_: str) -> Text:
        return self._memories[id_].text

    @property
    def contents(self) -> list[str]:
        """Every content that was ever to be stored, oldest first."""
        return list(self._texts)

    def deletes(self) -> list[Delete]:
        """Return every request to delete whose end is not known."""
        return [d for memory in self._memories.values() for d in memory.deletes if d.ended == inf]

    def existing(self, tick: int | None = None) -> list[str]:
        """Return the ids that certainly exist, and did at the tick."""
        return [id_ for id_ in self._memories if self._exists(id_, self.tick() if tick is None else tick)]

    def check_found(self, began: int, entries: Sequence[Entry]) -> None:
        """Check that whatever a recall returned may have been there, and learn from it."""
        if len({entry.id for entry in entries}) < len(entries):
            raise ViolationError("recall returned one memory twice")
        for entry in entries:
            self._check_entry(began, entry)

    def check_missing(self, began: int, texts: Sequence[Text], found: Collection[str]) -> None:
        """Check that none of these was there if a recall that began then has not returned it, and learn from it."""
        for text in texts:
            for id_ in self._ids.get(text, []):
                if id_ not in found:
                    self._learn_missing(began, id_)
            if not any(self.text_of(id_) == text for id_ in found):
                for store in self._stores[text]:
                    if store.ended < began:
                        store.never = min(store.never, self.tick())

    def check_missing_shade(self, began: int, shade: int, texts: Sequence[Text], found: Collection[str]) -> None:
        """Check the same for a recall of one shade: what may have had the other need not be there."""
        for id_ in (id_ for text in texts for id_ in self._ids.get(text, []) if id_ not in found):
            if self._exists(id_, began) and self._shades(id_, began) == {shade}:
                raise ViolationError(f"recall did not return {id_} {self.text_of(id_)} of shade {shade}")

    def texts_of(self, content: str) -> list[Text]:
        """Return the texts of this content that were ever to be stored."""
        return self._texts.get(content, [])

    def last_shade(self, content: str) -> int:
        """Return the shade that this content was last to be stored with."""
        return max((store for text in self._texts[content] for store in self._stores[text]), key=_number).shade

    def _check_entry(self, began: int, entry: Entry) -> None:
        number = entry.metadata.get("number")
        store = self._numbers.get(number) if isinstance(number, int) else None
        if store is None or store.text != (entry.content, entry.metadata.get("session")):
            raise ViolationError(f"recall returned {entry}, which this agent never stored like this")
        memory = self._memory(entry.id, store.text)
        if memory.gone < began:
            raise ViolationError(f"recall returned {entry.id}, which had been deleted before")
        if store.never < began:
            raise ViolationError(f"recall returned {entry}, though an earlier recall showed that this was not stored")
        if newer := self._stored_over(store, entry.id, began):
            raise ViolationError(f"recall returned {entry}, though {newer} were stored over it before")
        self._happened(store, entry.id)
        for delete in memory.deletes:
            if delete.ended < began:
                delete.void = True

    def _exists(self, id_: str, tick: float) -> bool:
        """Whether it is there for whoever asks from ``tick`` on: stored, and since then not even being deleted."""
        memory = self._memories[id_]
        return any(
            store.ended < tick
            and all(delete.void or delete.ended < store.began for delete in memory.deletes)
            and all(erasure.accepted < store.began for erasure in self._erasures)
            for store in memory.stores
        )

    def _stored_over(self, store: Store, id_: str, began: int) -> list[int]:
        """Return what replaced a store's metadata for certain before a recall began."""
        stores = self._memories[id_].stores
        return [other.number for other in stores if other.ended < began and other.began > store.ended]

    def _shades(self, id_: str, began: int) -> set[int]:
        """Return the shades a memory may have had since then."""
        stores = self._stores[self.text_of(id_)]
        return {store.shade for store in stores if store.never == inf and not self._stored_over(store, id_, began)}

    def _learn_missing(self, began: int, id_: str) -> None:
        memory = self._memories[id_]
        if self._exists(id_, began):
            raise ViolationError(f"recall did not return {id_} {memory.text}")
        if any(store.ended < began for store in memory.stores):
            memory.gone = min(memory.gone, self.tick())

    def _happened(self, store: Store, id_: str) -> None:
        store.id = id_
        if store not in self._memories[id_].stores:
            self._memories[id_].stores.append(store)

    def _memory(self, id_: str, text: Text) -> _Memory:
        if id_ not in self._memories:
            self._memories[id_] = _Memory(text)
            self._ids.setdefault(text, []).append(id_)
        memory = self._memories[id_]
        if memory.text != text:
            raise ViolationError(f"{id_} was {memory.text} and is now {text}")
        return memory


def _undone(store: Store, erasure: Erasure) -> bool:
    return store.kept_out or store.ended < erasure.began


def _number(store: Store) -> int:
    return store.number
