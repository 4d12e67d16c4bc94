"""Keeps content that should not be kept out of a tenant's data: every value that is written comes through here first.

A service screens what its caller brought before it embeds, hashes or stores anything of it.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

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
_CHARACTERS_OF_A_TEXT: Final = 100
"""What a look costs at least, in characters that cost as much: a list may have twenty thousand texts."""
_CHARACTERS_OF_A_STEP: Final = 20
"""What the walk through an object or a list costs, and through each thing in it, in characters that cost as much."""
_SHORTEST: Final = 8
"""Characters of the shortest text that is looked at: a password of one character in the shortest URL has as many."""
_LEAST_NUMBER: Final = 10**13
"""The least number that may be that of a card."""
_MASKED_AT_ONCE: Final = 16
"""Things of a list, such as messages, that are masked in one go."""
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
    in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread
    """Does what takes long in a thread, once it is the tenant's turn."""

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
        async for part in paced(_parts(value, name), _work, _CHARACTERS_AT_ONCE):
            kinds = [span.kind for span in self.detector.find(part.text)] if part.text else []
            found += kinds
            refused += self._refused(part, kinds)
        if not found:
            return value
        handling: Handling = "refuse" if refused else self.handling
        self._tell(found, handling)
        if refused:
            raise SensitiveContent.of(refused[:_MAX_NAMED])
        if handling != "mask" or _is_name(name):
            return value
        return cast("_T", await self._masked_apart(value))  # it looks at each text up to four times

    async def _masked_apart(self, value: Any) -> Any:  # noqa: ANN401 - any value
        """Mask a value in a thread; of a long list some at a time, so that others have their turn between."""
        if not isinstance(value, list):
            return await self.in_thread(partial(self._masked, value))
        masked = []
        for start in range(0, len(value), _MASKED_AT_ONCE):
            masked += await self.in_thread(partial(self._masked, value[start : start + _MASKED_AT_ONCE]))
        return masked

    def _refused(self, part: "_Looked", kinds: Sequence[SensitiveKind]) -> list[FieldError]:
        """Return the errors of a text with content of these kinds; none where it may be kept, as it is or masked."""
        if self.handling != "refuse" and not (part.names and self.handling == "mask" and self.attended):
            return []
        path = self._path(part.way)
        return [FieldError(path, f"has {NAMES[kind]}, which is not kept") for kind in dict.fromkeys(kinds)]

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

    def _path(self, way: "_Way") -> str:
        """Return a way as the path that an error names: keys that should not be kept are labels in it."""
        names: list[str] = []
        while way is not None:
            way, name = way
            names.append(self.text(str(name)))
        return ".".join(reversed(names))

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


_Way: TypeAlias = "tuple[_Way, str | int] | None"
"""The way to a part of a value: that to what it is in, and its name or place there; None to the value itself."""


class _Looked(NamedTuple):
    """A text that is looked at, or an object or a list that the walk goes through."""

    way: _Way
    text: str
    """Empty: it is no text."""
    names: bool
    """Whether it names something, as a key does."""
    things: int = 0
    """How many things it has in it."""


def _work(part: _Looked) -> int:
    """Return what a part costs, in characters that cost as much."""
    return len(part.text) + _CHARACTERS_OF_A_TEXT if part.text else _CHARACTERS_OF_A_STEP * (1 + part.things)


def _parts(value: object, name: str) -> Iterator[_Looked]:
    """Yield the texts of a value that may have something in them, and what they are in, in their order."""
    left: list[tuple[_Way, object, bool]] = [((None, name) if name else None, value, _is_name(name))]
    while left:
        way, value, names = left.pop()
        if (text := _text_of(value)) is not None:
            yield _Looked(way, text, names)
            continue
        yield _Looked(way, "", names, len(value) if isinstance(value, Collection) else 0)
        left += reversed(list(_inside(value, way)))


def _inside(value: object, way: _Way) -> Iterator[tuple[_Way, object, bool]]:
    """Yield what in an object or a list may have a text: the way to it, itself, and whether it names something."""
    if isinstance(value, list | tuple):
        yield from (((way, number), item, False) for number, item in enumerate(value) if _may_have_text(item))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if _may_have_text(key):
                yield (way, key), key, True
            if _may_have_text(item):
                yield (way, key), item, False
    elif is_dataclass(value):
        for each in fields(value):
            yield (way, each.name), getattr(value, each.name), _is_name(each.name)


def _text_of(value: Any) -> str | None:  # noqa: ANN401 - any value
    """Return the text that a value is, or a long number as text; None: it is none, or too short to have anything."""
    if isinstance(value, str):
        return value if len(value) >= _SHORTEST else None
    whole = type(value) is int or (type(value) is float and value.is_integer())  # tables give numbers as 4.0
    return str(abs(int(value))) if whole and abs(value) >= _LEAST_NUMBER else None


def _may_have_text(value: object) -> bool:
    """Tell at a glance of most values that they have no text: a list may have a hundred thousand of them."""
    if isinstance(value, str):
        return len(value) >= _SHORTEST
    return abs(value) >= _LEAST_NUMBER if isinstance(value, int | float) else bool(value)


def _is_name(name: str) -> bool:
    return name in _NAMING or name.endswith("_id")


def _labelled(text: str, spans: Sequence[SensitiveSpan]) -> str:
    pieces, last = [], 0
    for span in spans:
        pieces += [text[last : span.start], LABELS[span.kind]]
        last = span.end
    return "".join([*pieces, text[last:]])
