"""What the sentences of a content state, and what a question asks about.

A statement that sets a single-valued fact has a key, "<subject>/<relation>", and a value. Two statements of one key
with different values cannot both hold, so the later one replaces the earlier. No key is given where the rules are not
sure: a wrong key hides a memory that holds, a missing one only leaves an old memory beside a new one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.language.sentences import Sentence, sentences
from app.language.tokens import folded, tokens
from app.statements import questions
from app.statements.kinds import Kind, kind
from app.statements.loaded import RULES, pack_of
from app.statements.packs import Pack
from app.statements.program_text import is_program_text, without_code
from app.statements.reader import Reader
from app.statements.topics import USER, Voice

_NOT_PERSONS = frozenset(("assistant", "system", "tool", "bot", "ai"))
_READ_FOR_LANGUAGE = 2000
_MAX_SPEAKER = 100


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, its place in the content, its kind, and the single-valued fact that it sets."""

    text: str
    start: int
    end: int
    type: Kind
    key: str | None
    value: str | None


def statements(content: str, speaker: str | None = None) -> list[Statement]:
    """Return what each sentence of a content states; "I" in it is the speaker, or the user where none is named."""
    name = _speaker(speaker)
    start = _spoken_from(content, speaker)
    prose = without_code(content)
    main = pack_of(tokens(prose[start : start + _READ_FOR_LANGUAGE]))
    reader = Reader(RULES, Voice(name or USER))
    return list(_read(content, sentences(prose, main.code, start), main, reader if name else None))


def speaks(label: str, text: str) -> bool:
    """Tell whether a text is what somebody of that name says: it speaks of "I" or to "you", and no noun is the name."""
    words, names = tokens(text[:_READ_FOR_LANGUAGE]), tokens(label)
    pack = pack_of(words)
    if pack.words["speech"].isdisjoint(words):
        return False
    return not any(names in each.nouns or not each.phrases["leads"].trimmed(names) for each in RULES.packs)


def _read(content: str, found: Iterable[Sentence], main: Pack, reader: Reader | None) -> Iterator[Statement]:
    for sentence in found:
        words = tokens(sentence.text)
        pack = pack_of(words, main)
        stated = reader is not None and not is_program_text(sentence.text)
        claim = reader.claim(words, pack) if reader and stated else None
        kept = claim or (None, None)
        said = content[sentence.start : sentence.end]
        yield Statement(said, sentence.start, sentence.end, kind(words, pack, keyed=claim is not None), *kept)


def _speaker(speaker: str | None) -> str | None:
    """Return who "I" is; None where the speaker is a machine, whose words set no facts."""
    name = " ".join(folded((speaker or USER)[:_MAX_SPEAKER]).split()).replace("/", " ") or USER
    return None if name in _NOT_PERSONS else name


def _spoken_from(content: str, speaker: str | None) -> int:
    """Return where the words begin, after a "Name: " as in a transcript."""
    begin = len(content) - len(content.lstrip())
    if not speaker or not speaker.strip():
        return begin
    end = begin + len(speaker.strip())
    said = folded(content[begin:end]) == folded(speaker.strip()) and content[end : end + 1] == ":"
    return end + 1 if said else begin


def keys_asked(query: str) -> list[str]:
    """Return the keys that a question asks about, the likeliest first; none where the rules do not know."""
    words = tokens(query[:_READ_FOR_LANGUAGE])
    return questions.keys(words, pack_of(words), RULES)
