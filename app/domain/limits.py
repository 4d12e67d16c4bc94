"""The bounds of what may be stored and asked. Each is declared here once, with its check and its JSON schema.

``NewMemory`` and ``Query`` check themselves when they are made, and the field types of the interfaces
(``app.interfaces.fields``) apply the same bounds to requests and show them in their schemas. The CHECK constraints in
``app/storage/migrations`` restate the sizes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.errors import ContentTooLarge, FieldError, InvalidRequest
from app.domain.json_types import Json, to_json

ID_FORM = r"[A-Za-z0-9._:-]{1,64}"
"""Form of a tenant or agent id: Vectorize indexes only the first 64 bytes of a string, so that a longer
id could read another tenant's memories."""

MEMORY_ID_FORM = r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
"""Form of a ULID: 26 characters of Crockford's base 32."""

CONTENT_BYTES = 32 * 1024
METADATA_BYTES = 10 * 1024
METADATA_DEPTH = 8
SESSION_ID_BYTES = 256
PROFILE_QUERY_BYTES = 1024
MAX_PROFILE_PAGE = 1000
"""Memories of one page of a profile's listing."""
MAX_MESSAGES = 500
"""Of one ingestion."""
MESSAGE_SESSION_ID_BYTES = 64
TOPIC_CHARACTERS = 64
MAX_SEARCH_QUERIES = 5
"""Of a memory that a model has learned."""
SEARCH_QUERY_CHARACTERS = 200
MESSAGE_ROLES = ("system", "user", "assistant")
MAX_FILTER_KEYS = 16
"""Keys of metadata that one filter names: the database looks each of them up in each memory."""
MAX_TOP_K = 50
MAX_TOP_K_OF_TOOLS = 20
"""A model is given fewer entries (``Query.for_model``): what it reads takes room in its context."""
MAX_CANDIDATES = 40
"""Memories from which a language model answers (``Query.for_answer``)."""
MAX_ANSWER_BYTES = 20 * CONTENT_BYTES
"""All entries' content together: what does not fit is left out, as with ``max_tokens``."""
MAX_NUMBER = 2**63 - 1
"""The largest number metadata may hold: beyond it SQLite compares integers as approximate ones."""

MAX_IDEMPOTENCY_KEYS = 10_000
"""Of an agent, in 24 hours: beyond it the oldest thousand are forgotten (0012_kept.sql)."""
MAX_AGENT_SETTINGS = 10_000
"""Agents of a tenant that have settings of their own."""
MAX_REVOCATIONS = 10_000
"""How many credentials a tenant may have revoked by undoing what they wrote."""
MAX_UNDO_COUNTED = 2_000
"""Memories that the dry run of an undo counts: beyond it, it says how many there are at least."""
MAX_UNDO_NAMED = 50
"""Memories, and agents, that it names."""
MAX_UNFINISHED_INGESTIONS = 16
"""Of a tenant, whose messages are not all memories yet."""
MAX_LEARNING_INGESTIONS = 256
"""Of a tenant, with those of whose messages a language model still learns."""
MAX_INGESTIONS = 1_000
"""Finished ingestions of an agent that are kept: beyond it the oldest go."""
MAX_RECEIPTS = 10_000
"""Finished erasures of a tenant that are kept: beyond it the oldest go."""
MAX_NAMESPACES = 1000
"""Namespaces that a tenant may create."""
PROFILE_NAME_CHARACTERS = 100
JSON_DEPTH = 16
"""How deep a value of any JSON may be nested."""
RUN_VALUE_BYTES = 32 * 1024
"""Of the input and of the output of a run, as JSON."""
RUN_ERROR_BYTES = 4 * 1024
MAX_RUNS = 100_000
"""Runs of a tenant that are kept."""
MAX_EPISODES_GIVEN = 50
"""Episodes that a run is given when it begins."""
MAX_EPISODES_WRITTEN = 100
"""Episodes of one request."""
EPISODE_TYPE_CHARACTERS = 64
WORKING_KEY_CHARACTERS = 128
WORKING_BYTES = 128 * 1024
"""Keys and values of one instance of an agent, in UTF-8."""
MAX_WORKING_KEYS = 1_000
"""Of an instance."""
MAX_WORKING_INSTANCES = 10_000
"""Of a tenant, that hold anything."""
WORKING_TTL_SECONDS, MIN_WORKING_TTL_SECONDS, MAX_WORKING_TTL_SECONDS = 3_600, 60, 86_400
"""How long working memory lives where its writer does not say, and what a writer may say."""
MAX_LOG_ENTRIES = 100
"""Of one append to the log of a run, and of one page of it."""
LOG_BYTES = 1024 * 1024
"""Of the entries of a run's log that are kept."""
MAX_APPENDED = 100
"""Messages of one append to a window."""
WINDOW_BYTES, WINDOW_MESSAGES = 128 * 1024, 1_000
"""What a window keeps: older turns fall out of it into long-term memory."""
MAX_WINDOW_BYTES, MAX_WINDOW_MESSAGES = 512 * 1024, 4_000
"""What a window holds at most while turns cannot fall out of it."""
WINDOW_TOKENS, MAX_WINDOW_TOKENS = 8_000, 200_000
"""Of a window's answer: where its reader does not say, and at most."""
BLOB_BYTES = 20 * 1024 * 1024
"""Of one blob."""
MAX_BLOBS = 10_000
"""Blobs of a tenant."""
MAX_BLOBS_BYTES = 5 * 1024 * 1024 * 1024
"""Of all blobs of a tenant together."""
MEDIA_TYPE_CHARACTERS = 128
LARGE_VALUE_BYTES = 100_000
"""A JSON value with more goes into the object store: a statement for D1 has room for so much."""

MAX_WORKFLOWS = 1000
"""Of a tenant."""
MAX_WORKFLOWS_OF_TASK = 100
"""Of one agent type and task type: a selection draws from each of them."""
WORKFLOW_SPEC_BYTES = 100_000
MAX_SEED = 2**53 - 1
"""The largest integer that every reader of JSON reads exactly."""
TOOL_CHARACTERS = 64
TOOL_INPUT_BYTES = 128 * 1024
"""Of the input of a tool call, as JSON."""
TOOL_OUTPUT_BYTES = 10 * 1024
TOOL_ERROR_BYTES = 1024
MAX_TOOL_CALLS_AT_ONCE = 100
"""Of one request."""
MAX_TOOL_CALLS = 10_000
"""Of a run (0025_run_audit.sql)."""
CONTEXT_BYTES = 100_000
"""Of a shared document."""
MAX_CONTEXT_DOCUMENTS = 1000
"""Shared documents of a tenant."""
MAX_CONTEXT_NAMES = 50
"""Shared documents that one assembly of a context asks for by name."""
MAX_CONTEXT_VERSIONS = 20
"""Of a shared document that are kept."""
MAX_CONTEXT_BYTES = 20_000_000
"""Of all versions of a tenant's shared documents together."""
CONFIGURATION_BYTES = 64 * 1024
"""Of a tenant's configuration, as JSON."""

FACT_TEXT_BYTES = 256
"""Of the subject and of the predicate of a fact."""
FACT_OBJECT_BYTES = 1024
FACT_ID_CHARACTERS = 64

NO_NUL = r"^[^\u0000]*$"
"""Pattern of a text in a JSON schema; no schema can exclude lone surrogates too."""
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"
_NAME = r"[A-Za-z0-9!#$&^_.+-]+"
_MEDIA_TYPE = re.compile(rf'{_NAME}/{_NAME}(?: ?; ?{_NAME}=(?:{_NAME}|"[ !#-\[\]-~]*"))*')
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a value."""

    message: str
    too_large: bool = False
    """Whether the request as a whole counts as too large."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """Which values a field may have, of those that have its type."""

    violation: Callable[[Any], Violation | None]
    """Returns what is wrong with a value, if anything is."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The keywords of JSON Schema that say so, as far as it can."""


def check(*fields: tuple[str, Bound, Any]) -> None:
    """Check values, each given with the name of its field and its bound; None is a field that is left out.

    Raises:
        ContentTooLarge: the content has too many bytes.
        InvalidRequest: another field is outside its bound; every such field is named.
    """
    found = [(name, bound.violation(value)) for name, bound, value in fields if value is not None]
    violations = [(name, violation) for name, violation in found if violation is not None]
    if violations:
        raise out_of_bounds(violations)


def out_of_bounds(violations: Sequence[tuple[str, Violation]]) -> InvalidRequest:
    """Return the error that names these fields and what is wrong with each."""
    kind = ContentTooLarge if any(violation.too_large for _, violation in violations) else InvalidRequest
    detail = "; ".join(f"{name} {violation.message}" for name, violation in violations)
    return kind(f"{detail}.", errors=[FieldError(name, violation.message) for name, violation in violations])


def _form(pattern: str, message: str, **lengths: int) -> Bound:
    """Bound a text to a pattern as a whole."""
    matches = re.compile(pattern).fullmatch
    return Bound(lambda value: None if matches(value) else Violation(message), {"pattern": f"^{pattern}$", **lengths})


def _characters(most: int) -> Bound:
    """Bound a text in characters; any will do that can be stored."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        return None if 1 <= len(value) <= most else Violation(f"must be 1 to {most} characters")

    return Bound(violation, {"minLength": 1, "maxLength": most, "pattern": NO_NUL})


def _range(message: str, minimum: int, maximum: int | None = None, *, exclusive: bool = False) -> Bound:
    """Bound a number; ``exclusive``: the minimum itself is outside."""

    def violation(value: float) -> Violation | None:
        above = minimum < value if exclusive else minimum <= value
        return None if above and (maximum is None or value <= maximum) else Violation(message)

    schema = {"exclusiveMinimum" if exclusive else "minimum": minimum}
    return Bound(violation, schema if maximum is None else {**schema, "maximum": maximum})


def _text(max_bytes: int, *, whole_request: bool = False) -> Bound:
    """Bound a text in bytes of UTF-8; ``whole_request``: a longer one makes the whole request too large."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        if not value.strip():
            return Violation("must not be blank")
        if (size := len(value.encode())) > max_bytes:
            return Violation(f"has {size} bytes in UTF-8, at most {max_bytes} are allowed", too_large=whole_request)
        return None

    # A body that breaks its schema is a 422. One that is too large is a 413, whatever else it says: so the bound that
    # decides this is no part of the schema.
    longest = {} if whole_request else {"maxLength": max_bytes}
    return Bound(violation, {"minLength": 1, **longest, "pattern": _NOT_BLANK})


def _any_text(max_bytes: int) -> Bound:
    """Bound a text in bytes of UTF-8 that may be empty."""

    def violation(value: str) -> Violation | None:
        if (unstorable := _unstorable(value)) is not None:
            return Violation(f"must not contain {unstorable}")
        size = len(value.encode())
        return None if size <= max_bytes else Violation(f"has {size} bytes in UTF-8, at most {max_bytes} are allowed")

    return Bound(violation, {"maxLength": max_bytes, "pattern": NO_NUL})


def json_value(max_bytes: int, depth: int = JSON_DEPTH, *, whole_request: bool = False) -> Bound:
    """Bound a value of any JSON in depth and in bytes; the interfaces write its schema.

    ``whole_request``: a larger one makes the request as a whole too large.
    """

    def violation(value: Json) -> Violation | None:
        if (flaw := next(_flaws([value], depth + 1, max_bytes, named=depth), None)) is not None:
            return Violation(flaw)
        size = len(to_json(value).encode())
        if size <= max_bytes:
            return None
        return Violation(f"has {size} bytes as JSON, at most {max_bytes} are allowed", too_large=whole_request)

    return Bound(violation)


def _metadata(*, filters: bool = False) -> Bound:
    """Bound metadata in depth and in bytes of JSON; ``filters``: its values are compared with, and must be scalars.

    The interfaces write its schema, which refers to others.
    """

    def violation(value: Mapping[str, Json]) -> Violation | None:
        if filters and len(value) > MAX_FILTER_KEYS:
            return Violation(f"has {len(value)} keys, at most {MAX_FILTER_KEYS} are allowed")
        if (flaw := next(_flaws(value, METADATA_DEPTH, METADATA_BYTES), None)) is not None:
            return Violation(flaw)
        if (size := len(to_json(value).encode())) > METADATA_BYTES:
            return Violation(f"has {size} bytes as JSON, at most {METADATA_BYTES} are allowed")
        if filters and any(isinstance(each, list | Mapping) for each in value.values()):
            return Violation("must hold texts, numbers, booleans or null to compare with")
        return None

    return Bound(violation)


def future(now: int) -> Bound:
    """Bound a moment to those behind ``now``, in milliseconds since the epoch."""
    return Bound(lambda value: None if value > now else Violation("must be in the future"))


def no_later_than(latest: int) -> Bound:
    """Bound a moment, in milliseconds since the epoch, to those of which somebody can tell already."""
    return Bound(lambda value: None if value <= latest else Violation("must be at most a day ahead"))


def _messages(value: Sequence[Any]) -> Violation | None:
    if 1 <= len(value) <= MAX_MESSAGES:
        return None
    return Violation(f"has {len(value)} messages, from 1 to {MAX_MESSAGES} are allowed")


AGENT_ID = CREDENTIAL_ID = _form(
    ID_FORM, "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -", minLength=1, maxLength=64
)
TOPIC = _form(rf"[^/\x00-\x20]{{1,{TOPIC_CHARACTERS}}}", "must be a topic in normal form")
SEARCH_QUERY = _characters(SEARCH_QUERY_CHARACTERS)
MEMORY_ID = _form(MEMORY_ID_FORM, "must be a memory's id, a ULID")
OPERATION_ID = _form(MEMORY_ID_FORM, "must be an operation's id, a ULID")
NAMESPACE = _form(
    r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?",
    "must be 1 to 32 of the characters a-z 0-9 -, the first and the last of them no hyphen",
    minLength=1,
    maxLength=32,
)
PROFILE_NAME = _characters(PROFILE_NAME_CHARACTERS)
ACCOUNT_ID = _form(ID_FORM, "must be an account's id", minLength=1, maxLength=64)
IDEMPOTENCY_KEY = _form(r"[!-~]{1,255}", "must be 1 to 255 visible ASCII characters")
CONTENT = _text(CONTENT_BYTES, whole_request=True)
QUERY = _text(CONTENT_BYTES)
SESSION_ID = _text(SESSION_ID_BYTES)
MESSAGE_SESSION_ID = _text(MESSAGE_SESSION_ID_BYTES)
MESSAGE_ROLE = Bound(
    lambda value: None if value in MESSAGE_ROLES else Violation(f"must be one of {', '.join(MESSAGE_ROLES)}"),
    {"enum": list(MESSAGE_ROLES)},
)
MESSAGES = Bound(_messages, {"minItems": 1, "maxItems": MAX_MESSAGES})
METADATA = _metadata()
FILTER_METADATA = _metadata(filters=True)
TOP_K = _range(f"must be from 1 to {MAX_TOP_K}", 1, MAX_TOP_K)
TOP_K_OF_TOOLS = _range(f"must be from 1 to {MAX_TOP_K_OF_TOOLS}", 1, MAX_TOP_K_OF_TOOLS)
CANDIDATES = _range(f"must be from 1 to {MAX_CANDIDATES}", 1, MAX_CANDIDATES)
MIN_SCORE = _range("must be from 0 to 1", 0, 1)
RECENCY_DAYS = _range("must be above 0, at most 36500", 0, 36_500, exclusive=True)
MAX_TOKENS = _range("must be at least 1", 1)
LIST_LIMIT = _range("must be from 1 to 100", 1, 100)
PROFILE_QUERY = _text(PROFILE_QUERY_BYTES)
PROFILE_PAGE = _range(f"must be from 1 to {MAX_PROFILE_PAGE}", 1, MAX_PROFILE_PAGE)
RUN_ID = _form(MEMORY_ID_FORM, "must be a run's id, a ULID")
EPISODE_ID = _form(MEMORY_ID_FORM, "must be an episode's id, a ULID")
RUN_VALUE = json_value(RUN_VALUE_BYTES)
RUN_ERROR = _any_text(RUN_ERROR_BYTES)
EPISODES_GIVEN = _range(f"must be from 0 to {MAX_EPISODES_GIVEN}", 0, MAX_EPISODES_GIVEN)
EPISODE_TYPE = _characters(EPISODE_TYPE_CHARACTERS)
EPISODE_CONTENT = _any_text(CONTENT_BYTES)
EPISODE_DATA = METADATA
BLOB = Bound(
    lambda size: (
        None if size <= BLOB_BYTES else Violation(f"has {size} bytes, at most {BLOB_BYTES} are allowed", too_large=True)
    )
)
BLOB_ID = _form(MEMORY_ID_FORM, "must be a blob's id, a ULID")
BLOB_MEDIA_TYPE = Bound(
    lambda value: (
        None
        if len(value) <= MEDIA_TYPE_CHARACTERS and _MEDIA_TYPE.fullmatch(value)
        else Violation(f"must be a media type of at most {MEDIA_TYPE_CHARACTERS} characters, such as image/png")
    ),
)
WORKFLOW_SPEC = json_value(WORKFLOW_SPEC_BYTES)
DISCOUNT = _range("must be above 0, at most 1", 0, 1, exclusive=True)
SCORE = _range("must be from 0 to 1", 0, 1)
SEED = _range(f"must be from 0 to {MAX_SEED}", 0, MAX_SEED)
TOOL_CALL_ID = _form(MEMORY_ID_FORM, "must be a tool call's id, a ULID")
TOOL = _characters(TOOL_CHARACTERS)
TOOL_INPUT = json_value(TOOL_INPUT_BYTES)
TOOL_OUTPUT = json_value(TOOL_OUTPUT_BYTES)
TOOL_ERROR = _any_text(TOOL_ERROR_BYTES)
INPUT_HASH = _form(r"[0-9a-f]{64}", "must be a SHA-256 in 64 hex digits, in lower case", minLength=64, maxLength=64)
TOOL_MS = _range(f"must be from 0 to {MAX_NUMBER}", 0, MAX_NUMBER)
TOOL_TOKENS = _range(f"must be from 0 to {MAX_NUMBER}", 0, MAX_NUMBER)
TOOL_CALLS = Bound(
    lambda value: (
        None
        if 1 <= len(value) <= MAX_TOOL_CALLS_AT_ONCE
        else Violation(f"has {len(value)} calls, from 1 to {MAX_TOOL_CALLS_AT_ONCE} are allowed")
    ),
    {"minItems": 1, "maxItems": MAX_TOOL_CALLS_AT_ONCE},
)
AUDIT_EVENT = _form(r"[a-z][a-z_]{0,31}", "must be the name of an event", minLength=1, maxLength=32)
CONTEXT_NAME = _form(ID_FORM, "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -", minLength=1, maxLength=64)
CONTEXT_CONTENT = _any_text(CONTEXT_BYTES)
CONTEXT_VERSION = _range("must be from 1 to 999999999", 1, 999_999_999)
MEDIA_TYPE = _form(
    r"[A-Za-z0-9!#$&^_.+-]{1,63}/[A-Za-z0-9!#$&^_.+-]{1,64}",
    "must be a media type without parameters, as in text/markdown",
    maxLength=128,
)
CONFIGURATION = json_value(CONFIGURATION_BYTES)
RETENTION_DAYS = _range("must be from 1 to 36500, or null", 1, 36_500)


WORKING_KEY = _form(
    r"(?!(?:messages|window)$)[A-Za-z0-9._:-]{1,128}",
    "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and neither messages nor window",
    minLength=1,
    maxLength=WORKING_KEY_CHARACTERS,
)
INSTANCE = AGENT_ID
RUN_ID = _form(MEMORY_ID_FORM, "must be a run's id, a ULID")
WORKING_VALUE = json_value(WORKING_BYTES, whole_request=True)
WORKING_TTL = _range(
    f"must be from {MIN_WORKING_TTL_SECONDS} to {MAX_WORKING_TTL_SECONDS}",
    MIN_WORKING_TTL_SECONDS,
    MAX_WORKING_TTL_SECONDS,
)
LOG_ENTRY = json_value(WORKING_BYTES, whole_request=True)
LOG_NUMBER = _range("must be at least 0", 0, 2**53 - 1)
WINDOW_TOKEN_LIMIT = _range(f"must be from 1 to {MAX_WINDOW_TOKENS}", 1, MAX_WINDOW_TOKENS)
FACT_SUBJECT = FACT_PREDICATE = _text(FACT_TEXT_BYTES)
FACT_OBJECT = _text(FACT_OBJECT_BYTES)
FACT_ID = _form(
    rf"[!-~]{{1,{FACT_ID_CHARACTERS}}}",
    f"must be 1 to {FACT_ID_CHARACTERS} visible ASCII characters",
    minLength=1,
    maxLength=FACT_ID_CHARACTERS,
)
CONFIDENCE = _range("must be from 0 to 1", 0, 1)


def is_id(value: object) -> bool:
    """Tell whether a value has the form of a tenant or agent id."""
    return isinstance(value, str) and AGENT_ID.violation(value) is None


def _flaws(within: Json, depth: int, max_bytes: int, *, named: int | None = None) -> Iterator[str]:
    """Walk a value, never deeper than allowed, and no further than its bytes can reach.

    ``named``: how deep the text of a flaw says that it may be, where that is not ``depth``.
    """
    level: list[Json] = [within]
    left = max_bytes // 2  # keys and values that it can hold: each takes at least a character and a comma or colon
    for _ in range(depth):
        if not level:
            return
        values = [child for value in level for child in _children(value)]
        left -= len(values)
        if left < 0:
            yield f"has more than {max_bytes} bytes as JSON"
            return
        for value in values:
            if isinstance(value, str) and (unstorable := _unstorable(value)) is not None:
                yield f"must not contain {unstorable} in a key or a value"
            if isinstance(value, int | float) and not -MAX_NUMBER <= value <= MAX_NUMBER:
                yield f"must not contain a number beyond {MAX_NUMBER}"
        level = values
    if any(isinstance(value, list | Mapping) for value in level):
        yield f"must not be nested deeper than {named or depth} levels"


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _unstorable(text: str) -> str | None:
    """Name what no text may contain: SQLite ends a JSON text at NUL, and UTF-8 has no lone surrogates."""
    if "\0" in text:
        return "NUL"
    if _SURROGATE.search(text):
        return "a lone surrogate"
    return None
