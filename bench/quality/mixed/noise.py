"""Composes the everyday noise around the stories, from patterns: no two memories of it are equal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Generic, TypeVar

from bench.quality.mixed.memory import FIRST_DAY, LAST_DAY, OWNER, Draft, StoryInvalid, session_id
from bench.quality.mixed.patterns import Entry, Exchange, read_entries, read_exchanges, read_lists
from bench.quality.mixed.spin import Lists, expand
from bench.quality.mixed.stories import turns

WANTED_ENTRIES = 400
WANTED_NOTES = 290
WANTED_SMS = 500
"""How many memories of noise there are of each kind, at least; the chats are as many as are written."""
_SEASONS = ("winter", "winter", *("spring",) * 3, *("summer",) * 3, *("autumn",) * 3, "winter")
_ATTEMPTS = 60

T = TypeVar("T")


class Deck(Generic[T]):
    """Deals its cards in a random order, and all of them before one comes again."""

    def __init__(self, cards: Iterable[T], rng: Random) -> None:
        """Take the cards, and what decides their order."""
        self._cards = tuple(cards)
        self._rng = rng
        self._left: list[T] = []

    def deal(self) -> T:
        """Give the next card."""
        if not self._left:
            self._left = list(self._cards)
            self._rng.shuffle(self._left)
        return self._left.pop()


@dataclass(frozen=True, slots=True)
class _Words:
    """What texts are made of, and which texts there are already."""

    lists: Lists
    used: set[str]
    rng: Random

    def unused(self, patterns: Sequence[str], day: date) -> list[str] | None:
        """Expand patterns into texts that are not there yet; None where that does not succeed."""
        lists = {**self.lists, "weather": self.lists[f"weather_{_SEASONS[day.month - 1]}"]}
        for _ in range(_ATTEMPTS):
            texts = [_started(expand(pattern, lists, self.rng)) for pattern in patterns]
            if len(set(texts)) == len(texts) and not self.used.intersection(texts):
                self.used.update(texts)
                return texts
        return None


def compose(folder: Path, stories: Sequence[Draft], rng: Random) -> list[Draft]:
    """Compose all the noise, so that it repeats no text of the stories and joins none of their sessions."""
    words = _Words(read_lists(folder / "lists.txt"), {draft.text for draft in stories}, rng)
    taken = {draft.session for draft in stories}
    return [
        *_calendar(read_entries(folder / "calendar.txt"), words),
        *_notes(read_exchanges(folder / "notes_written.txt"), read_exchanges(folder / "notes.txt"), words),
        *_sms(read_exchanges(folder / "sms_friends.txt"), read_exchanges(folder / "sms.txt"), words, taken),
        *_chats(read_exchanges(folder / "chat.txt"), words, taken),
    ]


def _calendar(entries: Sequence[Entry], words: _Words) -> list[Draft]:
    deck = Deck(entries, words.rng)
    drafts: list[Draft] = []
    dates: set[datetime] = set()
    while len(drafts) < WANTED_ENTRIES:
        entry = deck.deal()
        when = datetime.combine(words.rng.choice(entry.days), time.fromisoformat(entry.clock), UTC)
        if when not in dates and (texts := words.unused([entry.pattern], when.date())):
            dates.add(when)
            drafts.append(Draft("calendar", when, texts[0]))
    return drafts


def _notes(written: Sequence[Exchange], patterns: Sequence[Exchange], words: _Words) -> list[Draft]:
    """Take down every note that was written by hand once, and as many of the patterns as are wanted."""
    deck = Deck(patterns, words.rng)
    drafts: list[Draft] = []
    waiting = list(reversed(written))
    while waiting or len(drafts) < WANTED_NOTES:
        pattern = waiting.pop() if waiting else deck.deal()
        when = _some_time(pattern, words.rng, (7, 22))
        if texts := words.unused(["\n".join(pattern.lines)], when.date()):
            drafts.append(Draft("note", when, texts[0]))
    return drafts


def _sms(written: Sequence[Exchange], patterns: Sequence[Exchange], words: _Words, taken: set[str]) -> list[Draft]:
    """Send every exchange that was written by hand once, and as many of the patterns as are wanted.

    Raises:
        StoryInvalid: an exchange that was written by hand repeats another text.
    """
    deck = Deck(patterns, words.rng)
    waiting = list(reversed(written))
    drafts: list[Draft] = []
    while waiting or len(drafts) < WANTED_SMS:
        exchange = waiting[-1] if waiting else deck.deal()
        when = _some_time(exchange, words.rng, (8, 20))
        session = session_id("sms", exchange.contact, when)
        if session in taken:
            continue
        if texts := words.unused([line[2:] for line in exchange.lines], when.date()):
            taken.add(session)
            drafts.extend(_messages(exchange, texts, when, session, words.rng))
            del waiting[-1:]
        elif waiting:
            raise StoryInvalid(f"a text comes twice: {' / '.join(exchange.lines)}")
    return drafts


def _messages(pattern: Exchange, texts: Sequence[str], start: datetime, session: str, rng: Random) -> Iterator[Draft]:
    when = start
    for place, (line, text) in enumerate(zip(pattern.lines, texts, strict=True)):
        speaker = OWNER if line.startswith(">") else pattern.contact
        yield Draft("sms", when, text, speaker, session, place)
        when += timedelta(minutes=rng.randint(1, 9))


def _chats(written: Sequence[Exchange], words: _Words, taken: set[str]) -> Iterator[Draft]:
    """Hold every chat once: they are written by hand as a whole."""
    for exchange in written:
        start = _some_time(exchange, words.rng, (12, 22))
        while session_id("chat", exchange.contact, start) in taken:
            start += timedelta(minutes=1)
        taken.add(session_id("chat", exchange.contact, start))
        yield from turns("noise", exchange.contact, start, exchange.lines)


def _some_time(pattern: Exchange, rng: Random, hours: tuple[int, int]) -> datetime:
    first, last = max(pattern.first, FIRST_DAY), min(pattern.last, LAST_DAY)
    day = first + timedelta(days=rng.randint(0, (last - first).days))
    return datetime.combine(day, time(rng.randint(*hours), rng.randint(0, 59)), UTC)


def _started(text: str) -> str:
    return text[:1].upper() + text[1:]
