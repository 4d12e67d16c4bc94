"""What a fact of three parts states.

Its key is that of the statements which the rules know: a fact (user, lives in, Oslo) and "I live in Rome" are of one
key, so that the later of both holds. Which relation a predicate names is found by reading it with values of each kind
in the place of the object: so a subject and a predicate have one key, whatever the object is. A predicate that the
rules do not know keeps all its objects. A doubtful fact has a key of its own kind beside it
(``app.domain.claim.PERHAPS``): so it supersedes doubtful ones alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from app.domain.claim import PERHAPS, Claim, Stated
from app.domain.facts import About, Fact
from app.domain.messages import digest
from app.language.tokens import folded, tokens
from app.statements import values
from app.statements.loaded import RULES, pack_of
from app.statements.rules import Statement, statements
from app.statements.topics import USER, WE, one_form

_MAX_KEY = 200 - len(PERHAPS)
_MAX_SUBJECT, _MAX_PREDICATE, _MAX_VALUE = 90, 60, 40
"""Characters of the parts of a key that no rule knows, which together fit: of a longer one the rest is a digest."""
_PROBES: Final = (
    *(("Oslo", "Lyon"), ("Ann", "Jonas"), ("Acme", "Initech")),
    *(("12", "31"), ("8080", "9090"), ("3 May", "4 June"), ("12 minutes", "31 minutes"), ("3.11", "3.12")),
    *(
        ("ann@mail.example", "joe@mail.example"),
        ("https://a.example", "https://b.example"),
        ("+4712345678", "+4787654321"),
    ),
    ("Main Street 5", "Mill Lane 7"),
)
"""Two values of each kind: where both are read with one key, it is the predicate that names the relation."""
_WORDS = frozenset(("Oslo", "Ann", "Acme"))
"""With these a noun may name a relation of its own: "favourite food". With a number a measure would be read."""
_FORMS = ("{who} {predicate} {value}", "{who}'s {noun} is {value}")
_MEASURES = frozenset(("amount", "duration", "when", "date"))
"""What a number is where nothing names it: such a key would take unlike predicates for one."""
_OF_VERBS = frozenset(("a teacher",))
"""With these any noun is read as what somebody is."""
_USERS = frozenset(("user", "the user", "i", "me", "myself", "my"))
_OURS = frozenset(("we", "us", "our", "ourselves"))


def read_fact(fact: Fact) -> Stated:
    """Return what a fact states: one claim, which is all that its memory says."""
    key, value = _claim(fact.subject, fact.predicate, fact.object)
    return Stated([Claim(key if fact.confident else doubted(key), value, whole=True)], "fact")


def doubted(key: str) -> str:
    """Return the key of a doubtful fact of which this would be the key if it were sure."""
    return PERHAPS + key


def about(subject: str | None, predicate: str | None) -> About:
    """Return which keys tell of a subject, of a predicate, or of both."""
    if subject is None and predicate is None:
        return About()
    key = _one_key(subject or USER, predicate) if predicate is not None else f"{subject_of(subject or USER)}/"
    relation = key.partition("/")[2]
    if subject is None:
        return About(None, relation or None, predicate)
    subjects = _subjects(subject)
    return About([*subjects, *map(doubted, subjects)], relation or None, predicate)


@lru_cache(1024)
def subject_of(subject: str) -> str:
    """Return a subject as keys have it: "the user" is "user", and "the staging server" is "server staging"."""
    words = _plain(subject)
    if words in _USERS or words in _OURS:
        return USER if words in _USERS else WE
    pack = pack_of(tokens(words))
    forms = [one_form(word, pack, RULES) for word in words.split()]
    found = _keyed(f"{words} lives in Oslo")
    if found is not None and found[1] == "oslo" and found[0].endswith("/lives_in"):
        named = found[0].partition("/")[0]
        # Where the rules find nobody they take the user; and of "plan A" they leave out the letter, a word to them.
        if named not in (USER, WE) and forms[-1] in named.split():
            return _fitting(named, _MAX_SUBJECT)
    kept = set(forms[1:] if len(forms) > 1 and forms[0] == "the" else forms)
    own = " ".join(sorted(kept))
    return _fitting(words if own in ("", USER, WE) else own, _MAX_SUBJECT)


def _claim(subject: str, predicate: str, said: str) -> tuple[str, str]:
    words = tokens(said)
    plain = _plain(said)
    key = _known_key(subject, predicate)
    if key is None:
        one = f"{_one_key(subject, predicate)}/{_fitting(plain, _MAX_VALUE)}"
        return _listed(subject, predicate, said) or (one, plain)
    kind = RULES.kinds.get(key.partition("/")[2], "any")
    return key, (values.value(kind, words, pack_of(words)) if kind != "any" and words else None) or plain


def _listed(subject: str, predicate: str, said: str) -> tuple[str, str] | None:
    """Return the claim of a fact whose predicate and object together name a relation: "uses pnpm"."""
    found = _keyed(f"{_subject_said(subject)} {_plain(predicate)} {_plain(said)}")
    if found is None or found[0].partition("/")[2] not in RULES.kinds:
        return None
    return found if _fits(found[0], subject) else None


def _one_key(subject: str, predicate: str) -> str:
    """Return the key of a subject and a predicate: that of a relation that the rules know, else one of its own."""
    told = _plain(predicate).replace(" ", "_").replace("/", "_")
    return _known_key(subject, predicate) or f"{subject_of(subject)}/{_fitting(told, _MAX_PREDICATE)}"


@lru_cache(4096)
def _known_key(subject: str, predicate: str) -> str | None:
    """Return the key of the relation of one value that a predicate names; None where the rules know none."""
    told = _plain(predicate)
    if told in RULES.many:
        return None
    return next(filter(None, (_probed(subject, told, *each) for each in _PROBES)), None)


def _probed(subject: str, predicate: str, first: str, second: str) -> str | None:
    """Return the key that a subject and a predicate have with either value; None where the rules know none."""
    who, noun = _subject_said(subject), predicate.removeprefix("has ").removeprefix("have ")
    for form in _FORMS[: 1 if first in _OF_VERBS else 2]:
        said = (form.format(who=who, predicate=predicate, noun=noun, value=value) for value in (first, second))
        claims = [_keyed(sentence) for sentence in said]
        keys = {None if claim is None else claim[0] for claim in claims}
        key = keys.pop()
        if keys or key is None or not _fits(key, subject):
            continue
        relation = key.partition("/")[2]
        if first in _WORDS or (relation in RULES.kinds and relation not in _MEASURES):
            return key
    return None


def _subject_said(subject: str) -> str:
    words = _plain(subject)
    return "the user" if words in _USERS else words


def _keyed(sentence: str) -> tuple[str, str] | None:
    """Return the only claim of a sentence."""
    stated: list[Statement] = statements(sentence)
    if len(stated) != 1 or stated[0].key is None or stated[0].value is None:
        return None
    return stated[0].key, stated[0].value


def _plain(text: str) -> str:
    """Return a text as words of one form, whatever its case, spaces and underscores."""
    words = folded(text).replace("_", " ").replace("/", " ").split()
    return " ".join(words).strip(" .,;:!?") or " ".join(words) or folded(text)


def _fits(key: str, subject: str) -> bool:
    """Tell whether a key that the rules know is of a subject, and short enough for a doubtful fact to have it too."""
    return key.partition("/")[0] in _subjects(subject) and len(key) <= _MAX_KEY


def _subjects(subject: str) -> Sequence[str]:
    """Return of whom the keys of a subject's facts may be: what "we" have chosen, the user has."""
    of = subject_of(subject)
    return (of, WE) if of == USER else (of,)


def _fitting(part: str, most: int) -> str:
    """Return a part of a key that is as long as it may be."""
    mark = digest(part)
    return part if len(part) <= most else f"{part[: most - len(mark) - 1]} {mark}"
