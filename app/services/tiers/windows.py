"""Windows of one tenant: the newest messages of an agent's instance; older messages fall out into long-term memory."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

import structlog

from app.domain import limits
from app.domain.author import Author
from app.domain.errors import (
    ContentTooLarge,
    InvalidRequest,
    LongTermDisabled,
    MemoryGatewayError,
    Unauthenticated,
    Unavailable,
)
from app.domain.memory import Scope
from app.domain.messages import NewMessage, message_id
from app.domain.windows import AppendedTurns, FallingTurn, Summary, Window, WindowState, WindowTurn
from app.ports.database import Row
from app.retrieval.selection import tokens
from app.services.ingest.identify import said_at, screened
from app.services.ingest.ingester import Ingester
from app.services.tenant.backends import TenantBackends
from app.services.tenant.writing import errors_of, write
from app.services.tiers.window_summaries import WindowSummaries, continued
from app.services.tiers.working_refusals import too_many_instances
from app.storage.rows import read_row, read_rows
from app.storage.tiers.windows import Windows, read_summaries

_MAX_ROUNDS = 64
"""Batches that one attempt moves; the next attempt moves the turns that are left."""


class WindowService:
    """Keeps the windows of one tenant's agents; the tenant is bound here.

    A message that was appended is in the window until it is in long-term memory: the run of the database that finds its
    memory removes it from the window. The author who appended the message is the author of the memory.
    """

    def __init__(self, backends: TenantBackends) -> None:
        """Take the backends of the tenant's services; they bind the tenant."""
        self._backends = backends
        self._database = backends.data.database
        # Turns are moved without the caller's credential: each turn becomes a memory of the author who appended it.
        self._mover = replace(backends, author=Author())

    async def append(
        self, agent_id: str, instance: str, messages: Sequence[NewMessage], *, ttl_seconds: int
    ) -> AppendedTurns:
        """Append messages. A message that the window or long-term memory has already stays as it is.

        The turns that the window does not keep fall out of it afterwards, in the background.

        Raises:
            ContentTooLarge: the window would have too many bytes or messages, since its turns could not fall out;
                nothing was appended.
            QuotaExceeded: the tenant has too many instances; nothing was appended.
            InvalidRequest: a field is outside its bounds.
            Erasing, Unauthenticated, Unavailable: as ``write`` says; appending again is safe.
        """
        statements = self._window(agent_id, instance)
        limits.check(("ttl_seconds", limits.WORKING_TTL, ttl_seconds))
        if not 1 <= len(messages) <= limits.MAX_APPENDED:
            message = f"has {len(messages)} messages, from 1 to {limits.MAX_APPENDED} are allowed"
            raise InvalidRequest.of_field("messages", message)
        messages, _ = await screened(self._backends, messages, None, self._backends.clock())
        limits.check(
            *(
                (f"messages.{number}.tokens", limits.MESSAGE_TOKENS, message.tokens)
                for number, message in enumerate(messages)
            )
        )
        turns = _turns(instance, messages)
        untold = all(message.occurred_at is None for message in messages)
        run = statements.append(turns, self._backends.author, untold=untold, ttl_seconds=ttl_seconds)
        async with errors_of({"too_many_instances": too_many_instances, "over_window": _too_large}):
            (known,), _, (row,) = await write(self._backends, statements.scope, run)
        state = read_row(WindowState, row)
        if state.due:
            self._backends.background.start(self.settle(agent_id, instance), name="window")
        appended = len(turns) - int(known["known"] or 0)
        return AppendedTurns(instance, appended, len(messages) - appended, state)

    async def window(self, agent_id: str, instance: str, *, max_tokens: int | None = None) -> Window:
        """Return the newest messages that fit, and the summaries of the messages that fell out before them.

        ``max_tokens`` bounds the messages alone; None: the messages that a window keeps, and the newest message however
        many tokens it has. An instance without a window has no messages.

        Raises:
            InvalidRequest: a field is outside its bounds.
            Unavailable: the database does not answer.
        """
        statements = self._window(agent_id, instance)
        if max_tokens is not None:
            limits.check(("max_tokens", limits.WINDOW_TOKEN_LIMIT, max_tokens))
        reads = [statements.newest(max_tokens), statements.read(), statements.summaries()]
        rows, states, summaries = await self._database.run(reads)
        turns = read_rows(WindowTurn, rows)
        state = read_row(WindowState, states[0]) if states else None
        messages = 0 if state is None else state.messages
        used = sum(turn.tokens for turn in turns)
        return Window(instance, turns, used, messages - len(turns), state, read_summaries(summaries))

    async def turns(self, agent_id: str, instance: str, *, max_tokens: int) -> Sequence[WindowTurn]:
        """Return the newest messages that fit, without summaries; raises as ``window`` does."""
        (rows,) = await self._database.run([self._window(agent_id, instance).newest(max_tokens)])
        return read_rows(WindowTurn, rows)

    async def summaries(self, agent_id: str, instance: str) -> Sequence[Summary]:
        """Return the summaries of the messages that fell out of a window, newest last; raises as ``window`` does."""
        (rows,) = await self._database.run([self._window(agent_id, instance).summaries()])
        return read_summaries(rows)

    async def settle(self, agent_id: str, instance: str) -> bool:
        """Move the turns that the window does not keep into long-term memory.

        Returns whether this process has no turns left to move: turns that another process moves at this moment are left
        to that process. A turn that cannot be moved now stays in the window; the next append and the runtime try again.
        """
        statements = self._window(agent_id, instance)
        try:
            for _ in range(_MAX_ROUNDS):
                claim = [statements.claim(), statements.falling()]
                claimed, rows = await write(self._mover, statements.scope, claim, kind="upkeep")
                if not claimed:
                    return True
                if not await self._move(statements, read_rows(FallingTurn, rows)):
                    return False
        except MemoryGatewayError as error:
            structlog.get_logger().warning("window_waits", code=error.code, reason=error.detail)
            with suppress(Unavailable):
                await self._database.run([statements.release()])
        return False

    async def _move(self, statements: Windows, falling: Sequence[FallingTurn]) -> bool:
        """Move the first turns, up to another author, and return whether they are gone. Raises as an ingestion does."""
        batch = list(takewhile(lambda turn: turn.author == falling[0].author, falling))
        if batch:
            leaving = sum(turn.counted_bytes for turn in batch)
            backends = replace(
                self._backends,
                author=batch[0].author,
                limits=replace(self._backends.limits, leaving_bytes=leaving),
                screening=self._backends.screening.without_caller(),
            )
            with suppress(LongTermDisabled, Unauthenticated):  # such turns can never become memories: they are dropped
                messages = [turn.message for turn in batch]
                found = await Ingester(backends).ingest(statements.scope.agent_id, messages, statements.instance)
                await self._take_out(statements, batch, [item.id for item in found.items])
        if batch and not batch[0].idle:
            return await self._sum_up(statements, batch)
        return await self._fall(statements, batch, idle=bool(batch))

    async def _take_out(self, statements: Windows, batch: Sequence[FallingTurn], ids: Sequence[str]) -> None:
        """Let turns fall, without a summary, that were masked on their way and became other messages."""
        others = {turn.place: id_ for turn, id_ in zip(batch, ids, strict=True) if id_ != turn.id}
        if others:
            await write(self._mover, statements.scope, [statements.take_out(others)], kind="upkeep")

    async def _sum_up(self, statements: Windows, batch: Sequence[FallingTurn]) -> bool:
        """Let the turns that are memories now fall, and write their summary in the same run of the database.

        Returns whether all turns of the batch are gone. If no turn of the batch became a memory, the turns that
        long-term memory refuses fall without a summary.
        """
        reads = [statements.remembered([turn.place for turn in batch]), statements.summaries()]
        rows, summed_up = await self._mover.data.database.run(reads)
        fallen = _remembered(batch, rows)
        if not fallen:
            return await self._fall(statements, batch)
        summaries = await self._merged(statements, read_summaries(summed_up))
        newest = summaries[-1] if summaries else None
        summary = await WindowSummaries(self._mover, statements.scope.agent_id).of_turns(fallen)
        whole = continued(newest, summary)
        replaced = [newest] if whole is not None and newest is not None else []
        gone = await self._fall(statements, fallen, summary=whole or summary, instead_of=replaced)
        return gone and len(fallen) == len(batch)

    async def _merged(self, statements: Windows, summaries: Sequence[Summary]) -> Sequence[Summary]:
        """Return a window's summaries. Where there is no room for another summary, merge the oldest into one first."""
        if len(summaries) < limits.MAX_WINDOW_SUMMARIES:
            return summaries
        oldest = summaries[: len(summaries) - limits.MAX_WINDOW_SUMMARIES + limits.MERGED_SUMMARIES]
        merged = await WindowSummaries(self._mover, statements.scope.agent_id).of_summaries(oldest)
        await write(self._mover, statements.scope, [statements.merge(merged, oldest)], kind="upkeep")
        return [merged, *summaries[len(oldest) :]]

    async def _fall(
        self,
        statements: Windows,
        turns: Sequence[FallingTurn],
        *,
        summary: Summary | None = None,
        instead_of: Sequence[Summary] = (),
        idle: bool = False,
    ) -> bool:
        """Let turns fall, as ``Windows.fall`` says, and return whether all of them are gone."""
        fall = statements.fall([turn.place for turn in turns], summary, instead_of=instead_of, idle=idle)
        *_, (left,) = await write(self._mover, statements.scope, fall, kind="upkeep")
        return left["kept"] == 0

    def _window(self, agent_id: str, instance: str) -> Windows:
        limits.check(("agent_id", limits.AGENT_ID, agent_id), ("instance", limits.INSTANCE, instance))
        return Windows(Scope(self._backends.tenant_id, agent_id), instance, self._backends.limits.window_tokens)


def _turns(instance: str, messages: Sequence[NewMessage]) -> list[WindowTurn]:
    """Return the messages as turns of a window, each once."""
    turns: dict[str, WindowTurn] = {}
    for message, moment in zip(messages, said_at(messages, 0), strict=True):
        id_ = message_id(instance, message.role, message.content)
        cost = tokens(message.content) if message.tokens is None else message.tokens
        turn = WindowTurn(id_, message.role, message.content, moment, cost, told=message.tokens is not None)
        turns.setdefault(id_, turn)
    return list(turns.values())


def _too_large(_: str) -> ContentTooLarge:
    message = (
        f"do not fit: the window holds at most {limits.MAX_WINDOW_BYTES} bytes and {limits.MAX_WINDOW_MESSAGES} "
        "messages that could not be moved into long-term memory yet"
    )
    return ContentTooLarge.of_field("messages", message, "Nothing was appended.")


def _remembered(batch: Sequence[FallingTurn], rows: Sequence[Row]) -> list[FallingTurn]:
    """Return the turns that are memories by now, with the ids of their memories."""
    ids = {int(row["place"] or 0): str(row["memory_id"]) for row in rows if row["memory_id"] is not None}
    return [replace(turn, memory_id=ids[turn.place]) for turn in batch if turn.place in ids]
