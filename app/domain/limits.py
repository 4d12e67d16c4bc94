"""The bounds of stored data and of requests. Each is declared once, with its check and its JSON schema.

This module has the bounds of memories, requests, profiles and tenants. The bounds of the memory tiers are declared in
``tier_limits``, and the type of a bound in ``bounds``; all other modules import them from here.

``NewMemory`` and ``Query`` check themselves when they are made, and the field types of the interfaces
(``app.interfaces.fields``) apply the same bounds to requests and show them in their schemas. The CHECK constraints in
``app/storage/schema.sql`` restate the sizes.
"""

import re
from collections.abc import Sequence
from typing import Any

from app.domain.bounds import *  # noqa: F403
from app.domain.bounds import ID_FORM, MEMORY_ID_FORM, Bound, Violation, characters, form, metadata, number, text
from app.domain.tier_limits import *  # noqa: F403

CONTENT_BYTES = 32 * 1024
METADATA_BYTES = 10 * 1024
METADATA_DEPTH = 8
SESSION_ID_BYTES = 256
PROFILE_QUERY_BYTES = 1024
MAX_PROFILE_PAGE = 1000
"""Memories of one page of a profile's listing."""
MAX_MESSAGES = 500
"""Messages of one ingestion."""
MESSAGE_SESSION_ID_BYTES = 64
TOPIC_CHARACTERS = 64
MAX_SEARCH_QUERIES = 5
"""Questions of a memory that a model has learned."""
SEARCH_QUERY_CHARACTERS = 200
MESSAGE_ROLES = ("system", "user", "assistant")
MAX_FILTER_KEYS = 16
"""Keys of metadata that one filter names: the database looks each of them up in each memory."""
MAX_TOP_K = 50
MAX_TOP_K_OF_TOOLS = 20
"""A model is given fewer entries (``Query.for_model``): they take room in its context."""
MAX_OF_GROUP = 5
"""Entries of one group (``Query.group_by``)."""
MAX_CANDIDATES = 40
"""Memories from which a language model answers (``Query.for_answer``)."""
MAX_ANSWER_BYTES = 20 * CONTENT_BYTES
"""Bytes of all entries' content together: entries that do not fit are left out, as with ``max_tokens``."""
MAX_GROUPED_METADATA = MAX_TOP_K * METADATA_BYTES
"""Characters of all entries' metadata together, where they are grouped: as many as without groups."""
MAX_IDEMPOTENCY_KEYS = 10_000
"""Keys of an agent in 24 hours: beyond this number the oldest thousand are forgotten (schema.sql)."""
MAX_AGENT_SETTINGS = 10_000
"""Agents of a tenant that have settings of their own."""
MAX_REVOCATIONS = 10_000
"""How many credentials a tenant may have revoked over HTTP."""
MAX_CREDENTIALS = 10_000
"""How many credentials of a tenant are recorded beside those that were recorded when they were first used."""
MAX_UNDO_COUNTED = 2_000
"""Memories that the dry run of an undo counts: beyond this number its count is a lower bound."""
MAX_UNDO_NAMED = 50
"""Memories, and agents, that the dry run of an undo names."""
MAX_UNFINISHED_INGESTIONS = 16
"""Ingestions of a tenant whose messages are not all memories yet."""
MAX_LEARNING_INGESTIONS = 256
"""Ingestions of a tenant that are unfinished, or of whose messages a language model still learns."""
MAX_INGESTIONS = 1_000
"""Finished ingestions of an agent that are kept: beyond this number the oldest go."""
MAX_RECEIPTS = 10_000
"""Finished erasures of a tenant that are kept: beyond this number the oldest go."""
MAX_NAMESPACES = 1000
"""Namespaces that a tenant may create."""
PROFILE_NAME_CHARACTERS = 100
MAX_KNOWN_PLACES = 100_000
"""Tenants whose shard a process keeps in memory; beyond this number it forgets the tenants that called longest ago."""
SHARD_BYTES = 10_000_000_000
"""Bytes that a D1 database may have (https://developers.cloudflare.com/d1/platform/limits/)."""
SHARD_VECTORS = 20_000_000
"""Vectors that a Vectorize index may have (https://developers.cloudflare.com/vectorize/platform/limits/)."""
SHARD_WARNED = 0.8
"""The part of either limit from which on operators are told to add a shard: 8 GB, or 16 million vectors."""


def future(now: int) -> Bound:
    """Bound a moment to those after ``now``, in milliseconds since the epoch."""
    return Bound(lambda value: None if value > now else Violation("must be in the future"))


def no_later_than(latest: int) -> Bound:
    """Bound a moment to those up to ``latest``, in milliseconds since the epoch, which is a day ahead."""
    return Bound(lambda value: None if value <= latest else Violation("must be at most a day ahead"))


def _messages(value: Sequence[Any]) -> Violation | None:
    if 1 <= len(value) <= MAX_MESSAGES:
        return None
    return Violation(f"has {len(value)} messages, from 1 to {MAX_MESSAGES} are allowed")


def _speakers(value: Sequence[Any]) -> Violation | None:
    if not 1 <= len(value) <= MAX_SPEAKERS:
        return Violation(f"has {len(value)} names, from 1 to {MAX_SPEAKERS} are allowed")
    return next(filter(None, map(SPEAKER.violation, value)), None)


AGENT_ID = CREDENTIAL_ID = form(
    ID_FORM, "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -", minLength=1, maxLength=64
)
MAX_SPEAKERS = 20
"""Speakers that one credential names."""
SPEAKER = characters(100)
SPEAKERS = Bound(_speakers, {"minItems": 1, "maxItems": MAX_SPEAKERS})
CREDENTIAL_SECONDS = number("must be from 60 to 31622400, which is 366 days", 60, 366 * 24 * 3600)
CREDENTIAL_REQUESTS = number("must be from 1 to 1000000", 1, 1_000_000)
TOPIC = form(rf"[^/\x00-\x20]{{1,{TOPIC_CHARACTERS}}}", "must be a topic in normal form")
SEARCH_QUERY = characters(SEARCH_QUERY_CHARACTERS)
MEMORY_ID = form(MEMORY_ID_FORM, "must be a memory's id, a ULID")
OPERATION_ID = form(MEMORY_ID_FORM, "must be an operation's id, a ULID")
CONSOLIDATION_ID = form(MEMORY_ID_FORM, "must be a consolidation's id, a ULID")
NAMESPACE = form(
    r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?",
    "must be 1 to 32 of the characters a-z 0-9 -, the first and the last of them no hyphen",
    minLength=1,
    maxLength=32,
)
PROFILE_NAME = characters(PROFILE_NAME_CHARACTERS)
ACCOUNT_ID = form(ID_FORM, "must be an account's id", minLength=1, maxLength=64)
IDEMPOTENCY_KEY = form(r"[!-~]{1,255}", "must be 1 to 255 visible ASCII characters")
CONTENT = text(CONTENT_BYTES, whole_request=True)
QUERY = text(CONTENT_BYTES)
SESSION_ID = text(SESSION_ID_BYTES)
MESSAGE_SESSION_ID = text(MESSAGE_SESSION_ID_BYTES)
MESSAGE_ROLE = Bound(
    lambda value: None if value in MESSAGE_ROLES else Violation(f"must be one of {', '.join(MESSAGE_ROLES)}"),
    {"enum": list(MESSAGE_ROLES)},
)
MESSAGES = Bound(_messages, {"minItems": 1, "maxItems": MAX_MESSAGES})
METADATA = metadata(METADATA_BYTES, METADATA_DEPTH)
FILTER_METADATA = metadata(METADATA_BYTES, METADATA_DEPTH, filter_keys=MAX_FILTER_KEYS)
TOP_K = number(f"must be from 1 to {MAX_TOP_K}", 1, MAX_TOP_K)
TOP_K_OF_TOOLS = number(f"must be from 1 to {MAX_TOP_K_OF_TOOLS}", 1, MAX_TOP_K_OF_TOOLS)
CANDIDATES = number(f"must be from 1 to {MAX_CANDIDATES}", 1, MAX_CANDIDATES)
MIN_SCORE = number("must be from 0 to 1", 0, 1)
RECENCY_DAYS = number("must be above 0, at most 36500", 0, 36_500, exclusive=True)
MAX_TOKENS = number("must be at least 1", 1)
CONFIRMED = number("must be from 0 to 100001", 0, 100_001)
LIST_LIMIT = number("must be from 1 to 100", 1, 100)
PROFILE_QUERY = text(PROFILE_QUERY_BYTES)
PROFILE_PAGE = number(f"must be from 1 to {MAX_PROFILE_PAGE}", 1, MAX_PROFILE_PAGE)
RETENTION_DAYS = number("must be from 1 to 36500, or null", 1, 36_500)


def is_id(value: object) -> bool:
    """Tell whether a value has the form of a tenant or agent id."""
    return isinstance(value, str) and re.fullmatch(ID_FORM, value) is not None


TASK_DAYS = 7
"""How many days a task that expires is kept at least, where its agent's memories are not kept for a shorter time."""
