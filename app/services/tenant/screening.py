"""Keeps content that should not be kept out of a tenant's data: every value that is written comes through here first.

A service screens what its caller brought before it embeds, hashes or stores anything of it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar, cast

from app.domain.errors import FieldError, SensitiveContent
from app.domain.json_types import to_json
from app.domain.request_note import RequestNote
from app.domain.sensitive import LABELS, NAMES, Handling, SensitiveKind, SensitiveSpan
from app.ports.sensitive_detector import SensitiveDetector
from app.services.turns.turns import paced

CountSensitive: TypeAlias = Callable[[SensitiveKind, Handling, int], None]
"""Counts what was found: its kind, what was done about it, and how often it was found."""

_T = TypeVar("_T")
_MAX_NAMED: Final = 20
_CHARACTERS_AT_ONCE: Final = 32_768
"""Characters that are looked at before other requests have their turn: in 3 ms usually, in 45 at most."""
_SHORTEST: Final = 8
"""Characters of the shortest text that is looked at: a password of one character in the shortest URL has as many."""
_LEAST_NUMBER: Final = 10**13
"""The least number that may be that of a card."""
_PASSES: Final = 4
"""Passes over one text: what was masked is looked at again, since a label ends the word before it."""
_NAMING: Final = {"id", "agent_type", "task_type", "tool", "role", "source"}


@dataclass(frozen=True, slots=True)
class Screening:
    """The rule of the settings about content that should not be kept, for the writes of one request."""

    handling: Handling = "off"
    detector: SensitiveDetector | None = None
    """Finds such content; None: nothing is looked for."""
    count: CountSensitive = lambda _, __, ___: None
    note: RequestNote = field(default_factory=RequestNote)
    """The notes of the request, which its answer tells of."""
    attended: bool = True
    """Whether there is a caller that a refusal can be told to."""

    def without_caller(self) -> "Screening":
        """Return the rule for a write that nobody waits for, such as of a model's words: it masks what it would refuse.

        Content that was taken before a setting was changed could otherwise never be worked off.
        """
        handling: Handling = "mask" if self.handling == "refuse" else self.handling
        return replace(self, handling=handling, attended=False)

    async def of(self, value: _T, name: str = "") -> _T:
        """Return a value as it may be kept: itself, or with labels in place of what should not be kept.

        The texts of a value are those of its fields, items and keys, to any depth, and long numbers count as texts.
        ``name`` is the field that has the value, in the words of the request. What names something, such as an id or a
        key of an object, cannot be masked: it is refused.

        Raises:
            SensitiveContent: the value has such content, and may not have it. Nothing of the content is in the error.
        """
        if self.detector is None:
            return value
        found: list[SensitiveKind] = []
        refused: list[FieldError] = []
        async for part in paced(self._parts(value, name), lambda part: len(part.text), _CHARACTERS_AT_ONCE):
            kinds = [span.kind for span in self.detector.find(part.text)]
            found += kinds
            refused += self._refused(part, kinds)
        if not found:
            return value
        handling: Handling = "refuse" if refused else self.handling
        self._tell(found, handling)
        if refused:
            raise SensitiveContent.of(refused[:_MAX_NAMED])
        return cast("_T", await self._masked_in_turns(value)) if handling == "mask" else value

    def _refused(self, part: "_Leaf", kinds: Sequence[SensitiveKind]) -> list[FieldError]:
        """Return the errors of a text with content of these kinds; none where it may be kept, as it is or masked."""
        if self.handling != "refuse" and not (part.names and self.handling == "mask" and self.attended):
            return []
        return [FieldError(part.path, f"has {NAMES[kind]}, which is not kept") for kind in dict.fromkeys(kinds)]

    def text(self, text: str) -> str:
        """Return a text with labels in place of what should not be kept, whatever the setting."""
        for _ in range(_PASSES):
            spans = () if self.detector is None else self.detector.find(text)
            if not spans:
                return text
            text = _labelled(text, spans)
        return text

    def named(self, names: Mapping[str, object]) -> Mapping[str, object]:
        """Return names with nothing in place of one that should not be kept, such as a key that was pasted for an id.

        Where such content is only counted, it stays.
        """
        if self.handling not in {"mask", "refuse"}:
            return names
        return {name: value if self.text(str(value)) == str(value) else "" for name, value in names.items()}

    def _tell(self, found: Sequence[SensitiveKind], handling: Handling) -> None:
        for kind, times in Counter(found).items():
            self.count(kind, handling, times)
            if self.attended:
                self.note.sensitive(kind, handling, times)

    def _parts(self, value: Any, path: str, *, names: bool = False) -> Iterator["_Leaf"]:  # noqa: ANN401 - any value
        """Yield the texts of a value that may have something in them."""
        text = _text_of(value)
        if text is not None:
            yield _Leaf(path, text, names)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                told = self.text(key) if len(key) >= _SHORTEST else key  # an error names the path
                yield from self._parts(key, _joined(path, told), names=True)
                yield from self._parts(item, _joined(path, told))
        elif isinstance(value, list | tuple):
            for number, item in enumerate(value):
                if not _is_small(item):  # a list may have a hundred thousand numbers
                    yield from self._parts(item, _joined(path, str(number)))
        elif is_dataclass(value) and not isinstance(value, type):
            for each in fields(value):
                yield from self._parts(getattr(value, each.name), _joined(path, each.name), names=_is_name(each.name))

    async def _masked_in_turns(self, value: Any) -> Any:  # noqa: ANN401 - any value
        """Mask a value, of a list one item after the other: a long one does not keep other requests from their turn."""
        if not isinstance(value, list | tuple):
            return self._masked(value)

        def characters(item: object) -> int:
            return sum(len(part.text) for part in self._parts(item, ""))

        return type(value)([self._masked(item) async for item in paced(value, characters, _CHARACTERS_AT_ONCE)])

    def _masked(self, value: Any) -> Any:  # noqa: ANN401 - any value
        text = _text_of(value)
        if text is not None:
            masked = self._masked_text(text)
            return value if masked == text else masked
        if isinstance(value, Mapping):
            return {key: self._masked(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._masked(item) for item in value)
        return self._masked_fields(value) if is_dataclass(value) and not isinstance(value, type) else value

    def _masked_fields(self, value: Any) -> Any:  # noqa: ANN401 - any dataclass
        """Return an object with its fields masked, but for those that name something."""
        named = {each.name: getattr(value, each.name) for each in fields(value) if not _is_name(each.name)}
        changed = {name: new for name, old in named.items() if (new := self._masked(old)) is not old}
        return replace(value, **changed) if changed else value

    def _masked_text(self, text: str) -> str:
        """Mask a text; one that is a JSON object or list stays one."""
        masked = self.text(text)
        if masked == text or text.lstrip()[:1] not in {"{", "["}:
            return masked
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            return masked
        return self.text(to_json(self._masked(document)))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A text of a value: the path to it, and whether it names something."""

    path: str
    text: str
    names: bool


def _text_of(value: Any) -> str | None:  # noqa: ANN401 - any value
    """Return the text that a value is, or a long number as text; None: it is none, or too short to have anything."""
    if isinstance(value, str):
        return value if len(value) >= _SHORTEST else None
    whole = type(value) is int or (type(value) is float and value.is_integer())  # tables give numbers as 4.0
    return str(abs(int(value))) if whole and abs(value) >= _LEAST_NUMBER else None


def _is_small(value: object) -> bool:
    """Tell whether a value is a number that is too small to be that of a card, or nothing."""
    return value is None or (isinstance(value, int | float) and -_LEAST_NUMBER < value < _LEAST_NUMBER)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_name(name: str) -> bool:
    return name in _NAMING or name.endswith("_id")


def _labelled(text: str, spans: Sequence[SensitiveSpan]) -> str:
    pieces, last = [], 0
    for span in spans:
        pieces += [text[last : span.start], LABELS[span.kind]]
        last = span.end
    return "".join([*pieces, text[last:]])
