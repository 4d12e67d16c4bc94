"""Reads a text as clauses of words, each word with its form, its place and whether it is written with a capital."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.domain.words import normalised
from app.grounding.wording import Stems, Wording

_TOKEN = re.compile(
    r"(?P<word>[^\W_]+(?:['\u2019][^\W\d_]+)*(?:(?:[-_./:@#+&]|(?<=\d),(?=\d))[^\W_]+)*[+#]{0,2}|[$\u20ac\u00a3%\u00b0])"
    r"|(?P<stop>[.!?\u2026](?=\s|$|[\"\u201d\u201c\u00ab\u00bb)\]])|\n)|(?P<ask>\?)|(?P<break>[,;:()\u2014\u2013])"
)
_CONTRACTIONS = (("n't", "not"), ("'m", "am"), ("'re", "are"), ("'ve", "have"), ("'ll", "will"), ("'d", "would"))
_SHORT = {"ca": "can", "wo": "will"}
_ABBREVIATED = frozenset(["dr", "mr", "mrs", "ms", "prof", "st", "no", "nr", "ca", "approx", "vs", "bzw", "usw"])
_NUMERAL = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: as it is written, folded, its stem, and where it begins and ends."""

    text: str
    folded: str
    stem: str
    starts: int
    ends: int
    first: bool
    """It begins a sentence."""
    capital: bool
    """It is written as names are."""

    @property
    def coded(self) -> bool:
        """Whether it has digits, or capitals inside: a code or a product's name."""
        return _NUMERAL.search(self.text) is not None or any(letter.isupper() for letter in self.text[1:])


@dataclass(slots=True)
class Clause:
    """A clause: its words in order, the number of its sentence, and whether the sentence asks."""

    words: list[Word] = field(default_factory=list)
    sentence: int = 0
    asks: bool = False
    joint: str = ""
    """The word or mark before it."""


def clauses(text: str, wording: Wording, stems: Stems) -> list[Clause]:
    """Return the clauses of a text in their order; contractions are written out."""
    found: list[Clause] = [Clause()]
    sentence, first = 0, True
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "word":
            for word in _words(match, stems, first=first):
                if word.folded in wording.words["joints"] and len(found[-1].words) != 1:
                    found.append(Clause(sentence=sentence, joint=word.folded))
                else:
                    found[-1].words.append(word)
            first = False
            continue
        if match.lastgroup == "stop" and match[0] == "." and _shortened(found[-1], wording):
            continue
        if match[0] in ",;:()\u2014\u2013":
            found.append(Clause(sentence=sentence, joint=match[0]))
            continue
        if match[0] == "?":
            _ask(found, sentence)
        sentence, first = sentence + 1, True
        found.append(Clause(sentence=sentence, joint="."))
    return [clause for clause in found if clause.words]


def _shortened(clause: Clause, wording: Wording) -> bool:
    """Tell whether a full stop belongs to the word before it: "Dr.", "K.", "24. März"."""
    if not clause.words:
        return False
    word = clause.words[-1]
    if word.folded.isdecimal():
        return wording.code != "en" and len(word.folded) <= len("31")
    return (len(word.text) == 1 and word.capital and word.text != "I") or word.folded in _ABBREVIATED


def _ask(found: list[Clause], sentence: int) -> None:
    for clause in reversed(found):
        if clause.sentence != sentence:
            return
        clause.asks = True


def folded(text: str) -> str:
    """Return a word or a text as it is compared."""
    return normalised(text).casefold().replace("\u2019", "'")


def _words(match: re.Match[str], stems: Stems, *, first: bool) -> Iterator[Word]:
    raw, starts, ends = match[0], match.start(), match.end()
    plain = folded(raw)
    if "'" in plain:
        yield from _written_out(raw, plain, starts, ends, stems, first=first)
        return
    yield Word(raw, plain, stems[plain], starts, ends, first, raw[0].isupper())


def _written_out(raw: str, plain: str, starts: int, ends: int, stems: Stems, *, first: bool) -> Iterator[Word]:
    for ending, full in _CONTRACTIONS:
        if plain.endswith(ending) and len(plain) > len(ending):
            word = plain[: -len(ending)]
            word = _SHORT.get(word, word)
            yield Word(raw[: len(word)], word, stems[word], starts, ends, first, raw[0].isupper())
            yield Word(full, full, stems[full], starts, ends, first=False, capital=False)
            return
    word, _, rest = plain.partition("'")
    yield Word(raw[: len(word)], word, stems[word], starts, ends, first, raw[0].isupper())
    if rest == "s":
        yield Word("'s", "'s", "'s", starts, ends, first=False, capital=False)
    elif rest:
        yield Word(
            raw[-len(rest) :], rest, stems[rest], starts, ends, first=False, capital=raw[-len(rest) :][:1].isupper()
        )
