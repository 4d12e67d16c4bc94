"""What one agent's callers did and were told, and whether an answer can be true.

Ticks order events: an operation came before another if it ended before the other began. What raised an error
happened or not; the first answer that shows which settles it for all later ones.

What is not checked: that a memory is left out where that would tell apart operations of which it is not known whether
they happened (a store that failed may have superseded it; that is settled by asking for what it stored); that the same
content is one memory once it may have been superseded; and, with a filter, what is superseded where not all that may
hold in its place pass the filter, or none of it does.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf

from app.domain.query import Entry
from tests.simulation import holding
from tests.simulation.known import ANYWHERE, Known, Where, unknown
from tests.simulation.operations import Delete, Erasure, Mark, Store, Text, ViolationError


@dataclass(slots=True)
class History(Known):
    """One agent's."""

    def begin_store(self, number: int, text: Text) -> Store:
        store = self._numbers[number] = Store(number, text, self.tick())
        if text not in self._stores:
            self._stores[text] = []
            self._texts.setdefault(text.content, []).append(text)
        self._stores[text].append(store)
        return store

    def acknowledge_store(self, store: Store, id_: str) -> None:
        """Check, and keep, that a store returned this id."""
        memory = self._memory(id_, store.text)
        if memory.gone < store.began:
            raise ViolationError(f"store returned {id_}, which had been deleted before")
        others = [other for other in self._ids[store.text] if other != id_ and self._exists(other, store.began)]
        if alike := [other for other in others if not self._may_have_made_room(other)]:
            raise ViolationError(f"store returned {id_}, but {alike} had the same content and was not deleted")
        before = any(other.ended < store.began for other in memory.stores)
        if before and store.text.occurred_at is None and self._is_replaced(id_, store.began):
            raise ViolationError(f"store returned {id_}, which had been superseded and so had made room")
        self._happened(store, id_)
        store.ended, store.acknowledged = self.tick(), True

    def fail(self, operation: Store | Delete | Mark) -> None:
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

    def begin_mark(self, id_: str, *, forgotten: bool) -> Mark:
        mark = Mark(id_, forgotten, self.tick())
        self._memories[id_].marks.append(mark)
        return mark

    def acknowledge_mark(self, mark: Mark) -> None:
        """Check, and keep, that a memory was forgotten, or remembered again."""
        id_, began = mark.id, mark.began
        if mark.forgotten and self._is_replaced(id_, began) and self._is(id_, began, forgotten=False, but=mark):
            raise ViolationError(f"{id_} was forgotten, though it was superseded before")
        self._seen(id_, began)
        mark.ended, mark.sure = self.tick(), True

    def refuse_forget(self, mark: Mark) -> None:
        """Check, and keep, that a memory was not forgotten because it is superseded."""
        if self._holds(self._claim(mark.id, mark.began), mark.began):
            raise ViolationError(f"{mark.id} was not forgotten, though nothing had superseded it")
        self._seen(mark.id, mark.began)
        mark.ended = self.tick()

    def miss_mark(self, mark: Mark) -> None:
        """Check, and learn from it, that a memory was not there to be forgotten, or to be remembered again."""
        if self._exists(mark.id, mark.began):
            raise ViolationError(f"{mark.id} was not found to be marked")
        self._learn_gone(mark.began, mark.id)
        mark.ended = self.tick()

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

    def check_found(self, began: int, entries: Sequence[Entry], where: Where = ANYWHERE) -> None:
        """Check that whatever a recall returned may have been there, and learn from it."""
        if len({entry.id for entry in entries}) < len(entries):
            raise ViolationError("recall returned one memory twice")
        for entry in entries:
            self._check_entry(began, entry, where)

    def check_missing(self, began: int, texts: Sequence[Text], found: Collection[str], where: Where = ANYWHERE) -> None:
        """Check that none of these was there if a recall that began then has not returned it, and learn from it."""
        for text in texts:
            known = [id_ for id_ in self._ids.get(text, []) if self._memories[id_].gone >= began]
            settled = all(self.shown(began, id_, where) for id_ in known)
            for id_ in known:
                if id_ not in found:
                    self._learn_missing(began, id_, where)
            if settled and not any(self.text_of(id_) == text for id_ in found):
                self._learn_not_stored(began, text, where)

    def check_missing_shade(self, began: int, shade: int, texts: Sequence[Text], found: Collection[str]) -> None:
        """Check the same for a recall of one shade: what may have had the other need not be there."""
        for id_ in (id_ for text in texts for id_ in self._ids.get(text, []) if id_ not in found):
            certain = self._exists(id_, began) and self._shades(id_, began) == {shade}
            if certain and self.shown(began, id_, {"shade": shade}):
                raise ViolationError(f"recall did not return {id_} {self.text_of(id_)} of shade {shade}")

    def _check_entry(self, began: int, entry: Entry, where: Where) -> None:
        number = entry.metadata.get("number")
        store = self._numbers.get(number) if isinstance(number, int) else None
        if store is None or store.text != (entry.content, entry.metadata.get("session"), entry.occurred_at):
            raise ViolationError(f"recall returned {entry}, which this agent never stored like this")
        self._memory(entry.id, store.text)
        self._seen(entry.id, began)
        if store.never < began:
            raise ViolationError(f"recall returned {entry}, though an earlier recall showed that this was not stored")
        if newer := self._stored_over(store, entry.id, began):
            raise ViolationError(f"recall returned {entry}, though {newer} were stored over it before")
        if self._is(entry.id, began, forgotten=True):
            raise ViolationError(f"recall returned {entry.id}, which had been forgotten before")
        if self._is_replaced(entry.id, began, where):
            raise ViolationError(f"recall returned {entry.id} {store.text}, which had been superseded before")
        self._happened(store, entry.id)
        self._show(entry.id, began, forgotten=False)
        if not where:
            self._rule_out(began, entry.id)

    def _seen(self, id_: str, began: int) -> None:
        """Check that a memory may have been there, and learn that it was."""
        memory = self._memories[id_]
        if memory.gone < began:
            raise ViolationError(f"an answer names {id_}, which had been deleted before")
        for delete in memory.deletes:
            if delete.ended < began:
                delete.void = True

    def _show(self, id_: str, began: int, *, forgotten: bool) -> None:
        """Keep that an answer showed whether a memory was forgotten."""
        marks = self._memories[id_].marks
        if any(mark.forgotten for mark in marks):  # else it says nothing new
            marks.append(Mark(id_, forgotten, began, self.tick(), sure=True, changes=False))

    def _rule_out(self, began: int, id_: str) -> None:
        """Learn from an entry that what would have superseded it is not there."""
        claim = self._claim(id_, began)
        claims = [] if claim is None else holding.ruled_out(claim, self._claims(claim.said.key, began))
        for other in claims:
            if other.id is not None:
                self._learn_gone(began, other.id)
        for other in claims:
            known = (self._memories[id_] for id_ in self._ids.get(other.text, []))
            if other.number is not None and all(memory.gone < inf for memory in known):
                self._learn_never(began, self._numbers[other.number])

    def _learn_missing(self, began: int, id_: str, where: Where) -> None:
        if not self._holds(self._claim(id_, began), began, where):
            return  # it may be superseded
        exists, remembered = self._exists(id_, began), self._is(id_, began, forgotten=False)
        if exists and remembered:
            raise ViolationError(f"recall did not return {id_} {self._memories[id_].text}")
        if exists:
            self._show(id_, began, forgotten=True)
        elif remembered:
            self._learn_gone(began, id_)

    def _learn_not_stored(self, began: int, text: Text, where: Where) -> None:
        """Learn from an answer without any memory of this text that what was to store it has not, or was undone."""
        for store in self._stores[text]:
            if self._holds(unknown(store), began, where):
                self._learn_never(began, store)

    def _learn_gone(self, began: int, id_: str) -> None:
        memory = self._memories[id_]
        if any(store.ended < began for store in memory.stores):
            memory.gone = min(memory.gone, self.tick())

    def _learn_never(self, began: int, store: Store) -> None:
        if store.ended < began:
            store.never = min(store.never, self.tick())

    def _happened(self, store: Store, id_: str) -> None:
        store.id = id_
        if store not in self._memories[id_].stores:
            self._memories[id_].stores.append(store)


def _undone(store: Store, erasure: Erasure) -> bool:
    return store.kept_out or store.ended < erasure.began
