"""Agents that store, recall, forget and delete through two replicas, and check every answer."""

import asyncio
from dataclasses import dataclass, field
from math import inf

from app.domain.errors import Erasing, MemoryGatewayError, NotFound, Superseded, Unavailable
from app.domain.memory import NewMemory, Scope
from app.domain.query import Filter, Query
from app.services.memories.gateway import LongTermMemoryGateway
from tests.simulation import clock
from tests.simulation.answers import Asked, check
from tests.simulation.chains import check_past
from tests.simulation.history import History
from tests.simulation.killer import KilledError
from tests.simulation.operations import Text, ViolationError
from tests.simulation.settled import memories_of, shown
from tests.simulation.statements import MOMENTS, TOLD, told
from tests.simulation.world import MAX_SKEW_MS, Replica, World

TOP_K = 10
_TOP_K_OF_STATED = 20
"""Of one statement there may be more that hold, each said at another moment."""
_SESSIONS = (None, "a", "b", "c", "d")
_THINKS_SECONDS = 6.0
_RECENT = 8
_POLLS_SECONDS = 5.0


@dataclass(slots=True)
class Agent:
    """One agent, whose callers may act at the same time; what was done and answered is in its history."""

    world: World
    tenant_id: str
    agent_id: str
    history: History = field(default_factory=History)

    async def act(self, times: int) -> None:
        """Do so many operations, one after the other."""
        dice = self.world.random
        actions = (self._store_any, self._recall_any, self._delete_any, self._mark_any)
        for _ in range(times):
            await asyncio.sleep(dice.expovariate(1 / _THINKS_SECONDS))
            (action,) = dice.choices(actions, (38, 42, 14, 6))
            try:
                await action()
            except ViolationError as error:
                raise ViolationError(f"{error}\n{self._traced(str(error))}") from None

    async def store(self, text: Text) -> str | None:
        """Store and return the id; None where it failed."""
        number = self.world.next_number()
        gateway, replica = self._gateway()
        store = self.history.begin_store(number, text)
        store.earliest = clock.now_ms() - MAX_SKEW_MS
        self._note("store", replica, number, text)
        metadata = {"number": number, "session": text.session, "shade": store.shade, **told(text.content)}
        try:
            id_ = await gateway.store(
                self.agent_id, NewMemory(text.content, metadata, text.session, occurred_at=text.occurred_at)
            )
        except Erasing as error:
            self._failed("store", replica, error)
            self.history.refuse_store(store)
            return None
        except (Unavailable, KilledError) as error:
            self.history.fail(store)
            self._failed("store", replica, error)
            return None
        finally:
            store.latest = clock.now_ms() + MAX_SKEW_MS
        self._note("stored", replica, number, id_)
        self.history.acknowledge_store(store, id_)
        self.world.counts["stored"] += 1
        return id_

    async def delete(self, id_: str) -> None:
        """Delete a memory that was there, or may have been."""
        gateway, replica = self._gateway()
        delete = self.history.begin_delete(id_)
        self._note("delete", replica, id_)
        try:
            await gateway.delete(self.agent_id, id_)
        except (Unavailable, KilledError) as error:
            self.history.fail(delete)
            self._failed("delete", replica, error)
            return
        self._note("deleted", replica, id_)
        self.history.acknowledge_delete(delete)
        self.world.counts["deleted"] += 1

    async def mark(self, id_: str, *, forgotten: bool) -> None:
        """Forget a memory that was there, or may have been; or take back that it was forgotten."""
        replica, done = self._replica(), "forgotten" if forgotten else "remembered"
        profile = replica.profile(self.tenant_id)
        mark = self.history.begin_mark(id_, forgotten=forgotten)
        self._note("mark", replica.name, id_, done)
        try:
            await (profile.forget if forgotten else profile.unforget)(self.agent_id, id_)
        except Superseded as error:
            self.history.refuse_forget(mark)
            self._failed("forget", replica.name, error)
        except NotFound as error:
            self.history.miss_mark(mark)
            self._failed("mark", replica.name, error)
        except (Unavailable, KilledError) as error:
            self.history.fail(mark)
            self._failed("mark", replica.name, error)
        else:
            self._note("marked", replica.name, id_, done)
            self.history.acknowledge_mark(mark)
            self.world.counts[done] += 1

    async def recall(self, content: str, where: Filter | None = None) -> str:
        """Ask for a content and check the answer; return ``failed``, ``whole`` or in what way it was degraded."""
        gateway, replica = self._gateway()
        top_k = _TOP_K_OF_STATED if content in TOLD else TOP_K
        asked = Asked(content, top_k, where or Filter(), self.history.tick())
        pending = self._pending()
        self._note("recall", replica, content, asked.where)
        try:
            found = await gateway.recall(self.agent_id, Query(content, top_k=top_k, where=asked.where))
        except (Unavailable, KilledError) as error:
            self._failed("recall", replica, error)
            return "failed"
        ids = [entry.id for entry in found.entries if entry.content == content]
        self._note("recalled", replica, content, ids, found.degraded)
        check(self.history, asked, found, {id_ for id_, _ in pending & self._pending()})
        kind = "+".join(found.degraded) or "whole"
        self.world.counts[f"recalled {kind}"] += 1
        return kind

    async def recall_all(self) -> None:
        """Ask for everything there ever was: each answer must now be there and be whole."""
        for content in self.history.contents:
            if await self.recall(content) != "whole":
                raise ViolationError(f"{content} was not answered, or not in full, without any fault")
        await check_past(self.world, Scope(self.tenant_id, self.agent_id))

    async def erase(self) -> None:
        """Ask until the receipt is there, then look past every port whether it is true."""
        erasure, id_ = self.history.begin_erasure(), ""
        while not erasure.ended < inf:
            await asyncio.sleep(_POLLS_SECONDS)
            gateway, replica = self._gateway()
            try:
                id_ = id_ or (await gateway.erase(self.agent_id)).id
                if erasure.accepted == inf:
                    self.history.accept_erasure()
                receipt = (await gateway.erasure(id_)).receipt
            except Unavailable as error:
                self._failed("erase", replica, error)
                continue
            self._note("erasing", replica, id_, receipt)
            if receipt is not None:
                self._check_erased(self.history.finish_erasure(erasure))
        self.world.counts["erased"] += 1

    def _check_erased(self, ids: list[str]) -> None:
        memories, vectors = memories_of(self.world), shown(self.world)
        if remaining := [id_ for id_ in ids if id_ in memories or id_ in vectors]:
            raise ViolationError(f"a receipt was written, but these are still there: {remaining}")

    async def _store_any(self) -> None:
        stored = self._text()
        if await self.store(stored) and self.world.random.random() < 0.05:
            await self.recall(stored.content)

    async def _delete_any(self) -> None:
        dice = self.world.random
        ids = self.history.ids(deleted=dice.random() < 0.1) or self.history.ids()
        if ids:
            await self.delete(dice.choice(ids[-_RECENT:] if dice.random() < 0.5 else ids))

    async def _mark_any(self) -> None:
        """Forget something, most often a statement; or remember again what may have been forgotten."""
        dice, ids = self.world.random, self.history.ids()
        stated = [id_ for id_ in ids if self.history.text_of(id_).content in TOLD]
        forgotten = [id_ for id_ in ids if self.history.may_be_forgotten(id_)]
        if forgotten and dice.random() < 0.4:
            await self.mark(dice.choice(forgotten), forgotten=False)
        elif ids:
            await self.mark(dice.choice(stated if stated and dice.random() < 0.7 else ids), forgotten=True)

    async def _recall_any(self) -> None:
        dice, contents = self.world.random, self.history.contents
        if contents:
            stated = dice.random() < 0.2
            recent = contents[-_RECENT:] if dice.random() < 0.5 else contents
            wanted = {"session": dice.choice(_SESSIONS)}, {"shade": dice.randint(0, 1)}
            (where,) = dice.choices(({}, *wanted), (5, 2, 2) if stated else (8, 1, 1))
            await self.recall(dice.choice(list(TOLD) if stated else recent), Filter(metadata=where))

    def _text(self) -> Text:
        """A statement, something new, or what has been stored, or tried, before, for this session or another."""
        dice, contents = self.world.random, self.history.contents
        if dice.random() < 0.3:
            at = dice.choice(MOMENTS) if dice.random() < 0.4 else None
            return Text(dice.choice(list(TOLD)), dice.choice(_SESSIONS[:2]), at)
        if not contents or dice.random() < 0.4:
            return Text(f"note {len(contents)}", dice.choice(_SESSIONS))
        content = dice.choice(contents[-_RECENT:] if dice.random() < 0.7 else contents)
        return dice.choice([*self.history.texts_of(content), Text(content, dice.choice(_SESSIONS))])

    def _replica(self) -> Replica:
        return self.world.random.choice(self.world.replicas)

    def _gateway(self) -> tuple[LongTermMemoryGateway, str]:
        replica = self._replica()
        return replica.gateway(self.tenant_id), replica.name

    def _pending(self) -> set[tuple[str, str]]:
        """Return the ids that the outbox holds for this agent's index in use, with their memories, and as what."""
        rows = self.world.file.rows(
            "SELECT id, outbox.index_name || revision FROM outbox JOIN long_term_memory USING (tenant_id, agent_id, id)"
            " JOIN embedding_in_use ON embedding_in_use.index_name = outbox.index_name"
            f" WHERE tenant_id = '{self.tenant_id}' AND agent_id = '{self.agent_id}' AND operation = 'upsert'"
        )
        return {(str(id_), str(revision)) for id_, revision in rows}

    def _failed(self, what: str, replica: str, error: BaseException) -> None:
        kind = error.code if isinstance(error, MemoryGatewayError) else "killed"
        self.world.counts[f"{what} {kind}"] += 1
        self._note(f"{what} failed", replica, kind)

    def _note(self, what: str, replica: str, *details: object) -> None:
        self.world.trace.note(what, self.tenant_id, self.agent_id, replica, *details)

    def _traced(self, message: str) -> str:
        """Show what happened to the ids that a message names."""
        words = [word.strip("'[](),:") for word in message.split()]
        ids = [word for word in words if len(word) == 26 and word.isupper()]
        return f"at {clock.now():.3f} s:\n{self.world.trace.about(*ids)}" if ids else ""
