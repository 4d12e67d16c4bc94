"""The stage in which each message becomes one memory, in its own words, by the writer that writes every memory."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from json import loads

from ulid import ULID

from app.domain.errors import QuotaExceeded, Unavailable
from app.domain.explicit import permitted
from app.domain.json_types import to_json
from app.domain.moments import moment
from app.domain.quotas import Usage, exceeded
from app.ports.database import Row
from app.services.ingest.lines import RUN_BYTES, write_lines
from app.services.ingest.work import IngestionWork
from app.services.memories.write_outcomes import MetadataDiffers
from app.services.tenant.backends import settled
from app.services.turns.turns import paced
from app.storage.memories import MemoryWrite
from app.storage.messages import MessageMemory, Staged, holders, staged, unstage
from app.storage.quotas import Quotas, usages
from app.storage.rows import read_row

_READ_AT_ONCE = 2 * 1024
"""Characters whose words are read before the event loop goes on; a longer message is read without a break."""
_MAX_TRIES = 5
"""Tries to write a batch while other requests write the same memories."""


class TurnWriting:
    """Writes the messages of an ingestion in the order in which they were said. Implements ``Stage``."""

    async def run(self, work: IngestionWork) -> None:
        """Write the messages that are left; raises as ``Stage`` says."""
        await self._write(work)
        work.written.set()

    async def _write(self, work: IngestionWork) -> None:
        tries = _MAX_TRIES
        while True:
            messages, waiting, leaving = await _next(work)
            if not messages:
                return
            work.check_held()
            try:
                done = await settled(lambda messages=messages, leaving=leaving: _written(work, messages, leaving))  # type: ignore[misc]
            except (MetadataDiffers, QuotaExceeded) as error:  # another request wrote since the batch was read
                tries -= 1
                if not tries:
                    raise Unavailable("The session is just being written by others.") from error
                continue
            tries = _MAX_TRIES
            if done == waiting:
                return


async def _next(work: IngestionWork) -> tuple[list[Staged], int, int]:
    """Return the next messages for which there is room, how many are left in all, and the bytes that all these count.

    Raises:
        QuotaExceeded: there is no room for a message.
    """
    backends = work.backends
    quotas = Quotas(backends.tenant_id, backends.limits.quotas).read(work.scope.agent_id)
    rows, quota = await backends.data.database.run([work.messages.next(), quotas])
    if not rows:
        return [], 0, 0
    messages = await _apart(work, staged(rows))
    leaving = backends.limits.leaving_bytes + int(rows[0]["waiting_bytes"] or 0)
    found = [usage.without(leaving) for usage in usages(quota)]
    return messages[: _fitting(messages, found, quota)], int(rows[0]["waiting"] or 0), leaving


def _fitting(messages: Sequence[Staged], found: Sequence[Usage], quota: Sequence[Row]) -> int:
    """Return the number of messages, from the first, for which there is room; raises as ``_next`` does."""
    memories = size = 0
    for number, staged_message in enumerate(messages):
        if staged_message.held is None:
            memories += 1
            size += len(staged_message.message.content.encode()) + len(
                to_json(staged_message.message.metadata).encode()
            )
        over = [use for usage in found for use in usage.exceeded_by((memories, size, number + 1))]
        if over and not number:
            raise exceeded(over, next_minute=int(quota[0]["next_minute"] or 0))
        if over:
            return number
    return len(messages)


async def _apart(work: IngestionWork, messages: Sequence[Staged]) -> list[Staged]:
    """Give a message a later moment where another message's memory already has its words and its moment."""
    result = list(messages)
    while clashing := _clashing(result):
        hashes: list[str] = []
        taken = {each.message.content_hash for each in result}
        for number in clashing:
            later = result[number].message.later()
            while later.content_hash in taken:
                later = later.later()
            taken.add(later.content_hash)
            hashes.append(later.content_hash)
            result[number] = Staged(later, None)
        (rows,) = await work.backends.data.database.run([holders(work.scope, hashes)])
        held = {str(row["content_hash"]): read_row(MessageMemory, row) for row in rows}
        for number in clashing:
            message = result[number].message
            result[number] = Staged(message, held.get(message.content_hash))
    return result


def _clashing(messages: Sequence[Staged]) -> list[int]:
    """Return the numbers of the messages whose words and moment another message has, as a memory or before them."""
    first: dict[str, str] = {}
    clashing = []
    for number, staged_message in enumerate(messages):
        message, held = staged_message.message, staged_message.held
        holder = message.id if held is None or held.held_by is None else held.held_by
        if first.setdefault(message.content_hash, holder) != message.id:
            clashing.append(number)
    return clashing


async def _written(work: IngestionWork, messages: Sequence[Staged], leaving: int) -> int:
    """Embed and write as many messages as go into one run; return their number.

    Raises:
        EmbeddingConfigChanged, MetadataDiffers, QuotaExceeded: as ``Writer.write``; nothing was written.
    """
    there = [staged_message.message.id for staged_message in messages if _is_there(staged_message)]
    lines = await _lines(work, [staged_message for staged_message in messages if not _is_there(staged_message)])
    if not lines:
        await work.run([unstage(work.scope, there), work.own.count()])
        return len(there)
    await write_lines(work, lines, leaving=leaving)
    return len(lines)


def _is_there(each: Staged) -> bool:
    """Tell whether a message is a memory already: an earlier run stopped before it removed the staged message."""
    return each.held is not None and each.held.held_by == each.message.id and not each.held.held_expired


async def _lines(work: IngestionWork, messages: Sequence[Staged]) -> list[MemoryWrite]:
    """Return the lines to be written, without vectors; the event loop goes on between messages.

    A memory that has the content already, of the same session and moment, becomes the message and keeps its metadata.
    """
    now, author = work.backends.clock(), work.backends.author
    first = _first_id(now)  # ids tell the order in which messages of one moment were said
    lines: list[MemoryWrite] = []
    size = 0
    vectors = sum(config.dimensions for config in work.backends.data.configs.configs) * 8 // 3  # as text
    async for number, each in paced(enumerate(messages), _to_read, _READ_AT_ONCE):
        memory = each.message.memory(work.scope, str(ULID.from_int(first + number)), now + number)
        if each.held is not None and not each.held.held_expired:
            memory = replace(memory, metadata=loads(each.held.held_metadata))
        line = MemoryWrite(memory, {}, {}, stated=permitted(memory, author))
        if each.held is not None:
            line = replace(line, merged_from=each.held.held_metadata, was_expired=each.held.held_expired)
        size += len(to_json([memory.content, memory.segments, memory.metadata_json]).encode()) + vectors
        if lines and size > RUN_BYTES:
            return lines
        lines.append(line)
    return lines


def _to_read(each: tuple[int, Staged]) -> int:
    return len(each[1].message.content)


def _first_id(now: int) -> int:
    """Return the first id of a series in which each id is the one before it plus one.

    ULIDs of one millisecond are made next to each other, so that two series would overlap; a digest sets them apart.
    """
    made = ULID.from_datetime(moment(now)).bytes
    return int(ULID.from_bytes(made[:6] + hashlib.blake2b(made, digest_size=10).digest()))
