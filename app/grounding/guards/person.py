"""A statement does not say of one person what its source says of another: the user, the assistant, a third person."""

from collections.abc import Iterator

from app.grounding.compared import GuardedStatement, SourceContents, SourceReading
from app.grounding.guards.words import ADDRESSED, ASSISTANT, OTHERS, PARTICIPANTS, SPEAKERS_OWN, SPEAKING, USER
from app.grounding.source import Ungrounded
from app.language.clauses import Clause, Word

_SHORT = 3
_SUBJECT = 2
"""The first words of a clause, among which its subject is searched for."""


def person(comparison: GuardedStatement) -> Iterator[Ungrounded]:
    """Yield the clauses of a statement whose predicate the sources' clauses say only of another person."""
    cited = comparison.cited
    for clause, near in comparison.near:
        same = [(source, other) for source, other in near if _says(other, clause, cited)]
        if same and all(_of_another(clause, source, other, cited) for source, other in same):
            yield Ungrounded("person", comparison.claim.text[clause.words[0].starts : clause.words[-1].ends])


def _says(other: Clause, clause: Clause, cited: SourceContents) -> bool:
    """Tell whether the other clause has all words of a clause's predicate, whatever the subject is."""
    subject = _subject(clause, cited)
    predicate = [word for word in clause.words if word is not subject and word.folded not in PARTICIPANTS]
    telling = [word for word in predicate if len(word.folded) > _SHORT or word.coded] or predicate
    return bool(telling) and all(any(word.akin(other_word) for other_word in other.words) for word in telling)


def _of_another(clause: Clause, source: SourceReading, other: Clause, cited: SourceContents) -> bool:
    subject = _subject(clause, cited)
    if subject is None:
        return False
    begins = other.words[0].folded
    if subject.folded in USER:
        if source.source.speaker == "assistant":
            return begins in SPEAKING
        return begins in OTHERS or _is_of_a_relative(clause, other)
    if subject.folded in ASSISTANT:
        return begins in SPEAKING if source.source.speaker == "user" else begins in ADDRESSED
    told_by_it = subject.folded in source.speaker or any(subject.akin(word) for word in other.words)
    return begins in SPEAKING and bool(source.speaker) and not told_by_it


def _subject(clause: Clause, cited: SourceContents) -> Word | None:
    """Return the subject that begins a clause: "the user", "the assistant" or a name; None for a thing of theirs."""
    for word in clause.words[:_SUBJECT]:
        if word.folded in USER | ASSISTANT:
            return None if word.owns else word
    word = clause.words[0]
    return word if word.capital and not word.owns and cited.has_name(word.folded) else None


def _is_of_a_relative(clause: Clause, other: Clause) -> bool:
    """Tell whether the other clause is about a relative, as in "my aunt", whom the statement's clause does not name."""
    if len(other.words) <= _SUBJECT or other.words[0].folded not in SPEAKERS_OWN:
        return False
    relative = other.words[1]
    spoken = any(word.folded in SPEAKING for word in other.words)
    return not spoken and not any(relative.akin(word) for word in clause.words)
