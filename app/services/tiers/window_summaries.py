"""Sums up turns that fall out of a window: by a language model, as far as its sentences follow, or by the reader."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

import structlog

from app.domain import limits
from app.domain.author import speaker_of
from app.domain.errors import QuotaExceeded, ReaderUnavailable, Unavailable
from app.domain.json_types import Json
from app.domain.reading import Kinds, is_readable
from app.domain.windows import FallingTurn, MadeBy, Summary, SummarySentence
from app.language.sentences import MAX_SENTENCE
from app.services.learning.evidence import evidence
from app.services.learning.reading import MAX_READ, MemorySentence, read
from app.services.learning.synthesising import MAX_CITED, WINDOW_SUMMARY_TOKENS, cited, grounded, summarising_turns
from app.services.models.model_calls import ModelCalls
from app.services.models.reader import TenantReader
from app.services.tenant.backends import TenantBackends

MODEL_SECONDS: Final = 15.0
"""How many seconds a summary waits for the model: the window is leased meanwhile."""
_READ_SENTENCES: Final = 120
"""Sentences that are read for one summary at most: of each part of a turn the first ones, an equal share."""
_AT_ONCE: Final = 4
"""Sentences of one call of the reader: with calls of other requests between, the call ends before its deadline."""
_TRIES: Final = 4
"""Calls for one batch of sentences, while the reader is busy."""
_PAUSE: Final = 0.5
_LONGEST: Final = MAX_SENTENCE - 20
"""Characters from which on a sentence may have been cut: white space and marks around it are not counted."""
_STOPS: Final = ("\n", ". ", "! ", "? ", "\u3002")
_UNREAD: Final = 0.3
"""The weight of the first sentence of a turn in a script that the reader does not know."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A turn, a part of a long turn, or a sentence of a summary, as a ``ReadableMemory``."""

    content: str
    metadata: Mapping[str, Json]
    created_at: int
    memories: Sequence[str]
    is_rest: bool = False
    """Whether the part begins within a sentence that is too long to be read."""
    id: str | None = None
    occurred_at: int | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class _MadeSummary:
    sentences: Sequence[SummarySentence]
    by: MadeBy


class WindowSummaries:
    """Makes the summaries of one agent's windows. Without a model or a reader a summary is made too, and says less."""

    def __init__(self, backends: TenantBackends, agent_id: str) -> None:
        """Bind the agent."""
        self._backends = backends
        self._agent_id = agent_id

    async def of_turns(self, turns: Sequence[FallingTurn]) -> Summary:
        """Sum up turns, at least one, in the order in which they were said."""
        parts = await asyncio.to_thread(lambda: [part for turn in turns for part in _parts(turn)])
        made = await self._by_model(parts)
        if made is None:
            said = await asyncio.to_thread(_looked_at, parts)
            made = await self._by_reader(said)
        moments, places = [turn.said_at for turn in turns], [turn.place for turn in turns]
        memories = [turn.memory_id for turn in turns]
        whole = Summary(min(places), max(places), len(turns), min(moments), max(moments), made.by, memories, ())
        return _with(whole, made.sentences)

    async def of_summaries(self, summaries: Sequence[Summary]) -> Summary:
        """Sum up summaries, at least one, the oldest first: without a model by their most telling sentences."""
        joined = _joined(summaries)
        parts = [
            _Part(sentence.text, {}, summary.until, sentence.memories)
            for summary in summaries
            for sentence in summary.sentences
        ]
        made = await self._by_model(parts) if parts else None
        return joined if made is None else _with(replace(joined, made_by=made.by), made.sentences)

    async def _by_model(self, parts: Sequence[_Part]) -> _MadeSummary | None:
        """Return the model's sentences that follow from the parts they cite; None where there are none."""
        if self._backends.models.model is None:
            return None
        now, ends = self._backends.clock(), asyncio.get_running_loop().time() + MODEL_SECONDS
        citable = await asyncio.to_thread(evidence, parts, {}, reference_time=now)
        calls = ModelCalls(self._backends.models.model, self._agent_id, ends=ends)
        try:
            answer = await calls.ask(lambda mark: summarising_turns(citable, mark, now=now))
            statements = await asyncio.to_thread(cited, answer, citable, (), now=now)
            found = await grounded(
                statements, self._backends.models.reader, max_tokens=WINDOW_SUMMARY_TOKENS, tries=_TRIES
            )
        except (Unavailable, QuotaExceeded) as error:
            structlog.get_logger().warning("window_summary_without_model", code=error.code, reason=error.detail)
            return None
        sentences = [
            SummarySentence(one.text, _once(id_ for number in one.memories for id_ in parts[number - 1].memories), 1)
            for one in found.sentences
        ]
        return _MadeSummary(sentences, "model") if _chosen(sentences) else None

    async def _by_reader(self, said: Sequence[tuple[_Part, MemorySentence]]) -> _MadeSummary:
        """Return the sentences that the reader calls a fact, an instruction or a task; without a reader, every one."""
        reader = self._backends.models.reader
        if reader is not None:
            try:
                return _MadeSummary(await _telling(said, reader), "reader")
            except ReaderUnavailable as error:
                structlog.get_logger().warning("reader_away", code=error.code, reason=error.detail)
        return _MadeSummary([_sentence(part, one, 1 / (1 + one.place)) for part, one in said], "sentences")


def continued(newest: Summary | None, summary: Summary) -> Summary | None:
    """Return the newest summary joined with another; None where their makers differ or one is too small for both."""
    if newest is None or newest.made_by != summary.made_by:
        return None
    both = [*newest.sentences, *summary.sentences]
    loses_nothing = {sentence.text for sentence in _chosen(both)} == {sentence.text for sentence in both}
    fits = newest.turns + summary.turns <= limits.SUMMARY_TURNS and loses_nothing
    return _joined([newest, summary]) if fits else None


def _joined(summaries: Sequence[Summary]) -> Summary:
    """Return one summary in place of several: their most telling sentences, by the least of their makers."""
    makers = get_args(MadeBy)
    whole = Summary(
        first_place=min(summary.first_place for summary in summaries),
        last_place=max(summary.last_place for summary in summaries),
        turns=sum(summary.turns for summary in summaries),
        since=min(summary.since for summary in summaries),
        until=max(summary.until for summary in summaries),
        made_by=max((summary.made_by for summary in summaries), key=makers.index),
        memories=_once(id_ for summary in summaries for id_ in summary.memories),
        sentences=(),
    )
    return _with(whole, [sentence for summary in summaries for sentence in summary.sentences])


def _with(summary: Summary, sentences: Sequence[SummarySentence]) -> Summary:
    """Return a summary with the most telling of these sentences, as many as it may have, in their order."""
    chosen = _chosen(sentences)
    named = _once(id_ for sentence in chosen for id_ in sentence.memories)
    others = [id_ for id_ in summary.memories if id_ not in named]
    return replace(
        summary, sentences=chosen, memories=[*named, *others[: max(limits.SUMMARY_MEMORIES - len(named), 0)]]
    )


def _chosen(sentences: Sequence[SummarySentence]) -> list[SummarySentence]:
    """Choose the most telling sentences for which there is room, of equally telling ones the later, each text once.

    A sentence that rests on more memories than a sentence may cite is left out: merged repeatedly, it would rest on all
    memories.
    """
    last = {sentence.text: place for place, sentence in enumerate(sentences) if len(sentence.memories) <= MAX_CITED}
    ordered = sorted(last.values(), key=lambda place: (-sentences[place].weight, -place))
    room, chosen = limits.SUMMARY_BYTES, list[int]()
    for place in ordered:
        size = len(sentences[place].text.encode()) + 1
        if size <= room and len(chosen) < limits.SUMMARY_SENTENCES:
            room -= size
            chosen.append(place)
    return [sentences[place] for place in sorted(chosen)]


def _parts(turn: FallingTurn) -> Iterator[_Part]:
    """Yield a turn in parts that are read as a whole; a part ends where a sentence ends, else where a word ends."""
    speaker = (speaker_of(turn.content, {}) if turn.role == "user" else "") or turn.role
    begin, is_rest = 0, False
    while begin < len(turn.content):
        stop, end = 0, begin + MAX_READ
        if end < len(turn.content):
            stop = max(turn.content.rfind(mark, begin, end) for mark in _STOPS)
            last = turn.content.rfind(" ", begin, end) if stop < 0 else stop
            end = end if last < 0 else last + 1
        yield _Part(turn.content[begin:end], {"speaker": speaker}, turn.said_at, [turn.memory_id], is_rest)
        begin, is_rest = end, stop < 0


def _looked_at(parts: Sequence[_Part]) -> list[tuple[_Part, MemorySentence]]:
    """Return the first sentences of each part; where there are too many parts, of the newest parts.

    A sentence that is cut because of its length is left out: its end may change what it says.
    """
    newest = parts[-_READ_SENTENCES:]
    share = _READ_SENTENCES // len(newest)
    return [
        (part, one)
        for part in newest
        for one in read(part, most=share)
        if len(one.text) < _LONGEST and not (part.is_rest and one.place == 0)
    ]


async def _telling(said: Sequence[tuple[_Part, MemorySentence]], reader: TenantReader) -> list[SummarySentence]:
    """Return the sentences that are no questions, no single words and no events.

    The first sentence of a part is taken too where the reader does not know its script.

    Raises:
        ReaderUnavailable: the reader does not answer.
    """
    kinds = await _kinds_of([one for _, one in said if _is_read(one)], reader)
    telling: list[SummarySentence] = []
    for part, one in said:
        kind = kinds.get(one)
        if kind is not None and kind.name != "event":
            telling.append(_sentence(part, one, 1 - kind.event))
        elif kind is None and one.place == 0 and not is_readable(one.text):
            telling.append(_sentence(part, one, _UNREAD))
    return telling


def _is_read(one: MemorySentence) -> bool:
    return is_readable(one.text) and not one.asks and len(one.text.split()) > 1


async def _kinds_of(said: Sequence[MemorySentence], reader: TenantReader) -> Mapping[MemorySentence, Kinds]:
    kinds: dict[MemorySentence, Kinds] = {}
    for first in range(0, len(said), _AT_ONCE):
        batch = said[first : first + _AT_ONCE]
        kinds.update(zip(batch, await _kinds([one.text for one in batch], reader), strict=True))
    return kinds


async def _kinds(texts: Sequence[str], reader: TenantReader) -> Sequence[Kinds]:
    for _ in range(_TRIES - 1):
        try:
            return await reader.kinds(texts)
        except ReaderUnavailable:
            await asyncio.sleep(_PAUSE)
    return await reader.kinds(texts)


def _sentence(part: _Part, said: MemorySentence, weight: float) -> SummarySentence:
    text = f"{said.speaker}: {said.text}" if said.speaker else said.text
    return SummarySentence(text, part.memories, weight)


def _once(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))
