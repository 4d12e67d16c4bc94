"""The bounds of the memory tiers (docs/tiers.md), by tier. Other modules import them from ``app.domain.limits``."""

import re

from app.domain.bounds import (
    ID_FORM,
    MAX_NUMBER,
    MEMORY_ID_FORM,
    Bound,
    Violation,
    any_text,
    characters,
    form,
    json_value,
    metadata,
    number,
    text,
)

# Runs and their episodes.

RUN_VALUE_BYTES = 200 * 1024
"""Bytes of the input, and of the output, of a run, as JSON."""
RUN_ERROR_BYTES = 4 * 1024
MAX_RUNS = 100_000
"""Runs of a tenant that are kept."""
MAX_RUN_DEPTH = 8
"""How many runs, one the parent of the next, may be above a delegated run."""
MAX_RUN_CHILDREN = 100
"""Runs that one run may delegate."""
HANDED_OVER_BYTES = 8 * 1024
"""Bytes of the value that a parent hands over to a run, as JSON."""
RUN_RESULT_BYTES = 10 * 1024
"""Bytes up to which the log of the parent has the whole output of a delegated run."""
MAX_EPISODES_GIVEN = 50
"""Episodes that a run is given when it begins."""
MAX_EPISODES_WRITTEN = 100
"""Episodes that one request may write."""
EPISODE_TYPE_CHARACTERS = 64
EPISODE_CONTENT_BYTES = 32 * 1024
EPISODE_DATA_BYTES, EPISODE_DATA_DEPTH = 10 * 1024, 8
"""Bytes of the data of an episode, as JSON, and how deep the data may be nested."""
RUN_ID = form(MEMORY_ID_FORM, "must be a run's id, a ULID")
EPISODE_ID = form(MEMORY_ID_FORM, "must be an episode's id, a ULID")
RUN_VALUE = json_value(RUN_VALUE_BYTES)
HANDED_OVER = json_value(HANDED_OVER_BYTES)
RUN_ERROR = any_text(RUN_ERROR_BYTES)
EPISODES_GIVEN = number(f"must be from 0 to {MAX_EPISODES_GIVEN}", 0, MAX_EPISODES_GIVEN)
EPISODE_TYPE = characters(EPISODE_TYPE_CHARACTERS)
EPISODE_CONTENT = any_text(EPISODE_CONTENT_BYTES)
EPISODE_DATA = metadata(EPISODE_DATA_BYTES, EPISODE_DATA_DEPTH)

# Working memory: the keys of an instance, and the turn state and the log of a run.

WORKING_KEY_CHARACTERS = 128
WORKING_BYTES = 128 * 1024
"""Keys and values of one instance of an agent, in UTF-8."""
MAX_WORKING_KEYS = 1_000
"""Keys of an instance."""
MAX_WORKING_INSTANCES = 10_000
"""Instances of a tenant that hold anything."""
WORKING_TTL_SECONDS, MIN_WORKING_TTL_SECONDS, MAX_WORKING_TTL_SECONDS = 3_600, 60, 86_400
"""How long working memory lives where its writer names no time, and the shortest and longest time a writer may name."""
MAX_LOG_ENTRIES = 100
"""Entries of one append to the log of a run, and of one page of the log."""
LOG_BYTES = 1024 * 1024
"""Bytes of the entries of a run's log that are kept."""
LOG_OVERHEAD = 64
"""Bytes that an entry of a log counts in addition to its own."""
INSTANCE = form(ID_FORM, "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -", minLength=1, maxLength=64)
WORKING_KEY = form(
    r"(?!(?:messages|window)$)[A-Za-z0-9._:-]{1,128}",
    "must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and neither messages nor window",
    minLength=1,
    maxLength=WORKING_KEY_CHARACTERS,
)
WORKING_VALUE = json_value(WORKING_BYTES, whole_request=True)
WORKING_TTL = number(
    f"must be from {MIN_WORKING_TTL_SECONDS} to {MAX_WORKING_TTL_SECONDS}",
    MIN_WORKING_TTL_SECONDS,
    MAX_WORKING_TTL_SECONDS,
)
LOG_ENTRY = json_value(WORKING_BYTES, whole_request=True)
LOG_NUMBER = number("must be at least 0", 0, 2**53 - 1)

# The window of an instance.

MAX_APPENDED = 100
"""Messages of one append to a window."""
WINDOW_BYTES, WINDOW_MESSAGES = 128 * 1024, 1_000
"""Bytes and messages that a window keeps: older turns fall out of the window into long-term memory."""
MAX_MESSAGE_TOKENS = 200_000
"""Tokens of a message, as its caller counts them."""
MAX_WINDOW_SUMMARIES, MERGED_SUMMARIES = 20, 10
"""Summaries that a window holds at most, and how many of the oldest are merged where the window would have more."""
SUMMARY_TURNS, SUMMARY_BYTES, SUMMARY_SENTENCES = 20, 1_024, 40
"""Turns up to which the newest summary is extended, and a summary's bytes of text, in UTF-8, and its sentences."""
SUMMARY_MEMORIES = 64
"""Up to how many memories a summary names; the memories that its sentences rest on are named in any number."""
MAX_WINDOW_BYTES, MAX_WINDOW_MESSAGES = 512 * 1024, 4_000
"""Bytes and messages that a window holds at most while turns cannot fall out of it."""
WINDOW_TOKENS, MAX_WINDOW_TOKENS = 8_000, 200_000
"""Tokens that a window keeps where the settings name no other number, and the tokens of its answer at most."""
MESSAGE_TOKENS = number(f"must be from 1 to {MAX_MESSAGE_TOKENS}", 1, MAX_MESSAGE_TOKENS)
WINDOW_TOKEN_LIMIT = number(f"must be from 1 to {MAX_WINDOW_TOKENS}", 1, MAX_WINDOW_TOKENS)

# Blobs.

BLOB_BYTES = 20 * 1024 * 1024
"""Bytes of one blob."""
MAX_BLOBS = 10_000
"""Blobs of a tenant."""
MAX_BLOBS_BYTES = 5 * 1024 * 1024 * 1024
"""Bytes of all blobs of a tenant together."""
MEDIA_TYPE_CHARACTERS = 128
LARGE_VALUE_BYTES = 100_000
"""Bytes up to which a JSON value fits into a statement for D1: a larger value goes into the object store."""
_NAME = r"[A-Za-z0-9!#$&^_.+-]+"
_MEDIA_TYPE = re.compile(rf'\A{_NAME}/{_NAME}(?: ?; ?{_NAME}=(?:{_NAME}|"[ !#-\[\]-~]*"))*')
BLOB = Bound(
    lambda size: (
        None if size <= BLOB_BYTES else Violation(f"has {size} bytes, at most {BLOB_BYTES} are allowed", too_large=True)
    )
)
BLOB_ID = form(MEMORY_ID_FORM, "must be a blob's id, a ULID")
BLOB_MEDIA_TYPE = Bound(
    lambda value: (
        None
        if len(value) <= MEDIA_TYPE_CHARACTERS and _MEDIA_TYPE.fullmatch(value)
        else Violation(f"must be a media type of at most {MEDIA_TYPE_CHARACTERS} characters, such as image/png")
    ),
)

# Workflows.

MAX_WORKFLOWS = 1000
"""Workflows of a tenant."""
MAX_WORKFLOWS_OF_TASK = 100
"""Workflows of one agent type and task type: a selection draws a rate for each of them."""
WORKFLOW_SPEC_BYTES = 100_000
MAX_WORKFLOW_VERSIONS = 10
"""How many replaced texts of a workflow are kept: those that were replaced last."""
WORKFLOW_WEIGHT_OF_AGENT = 5
"""How many outcomes of a credential for one agent count at most, in a workflow, where another agent asks."""
WORKFLOW_WEIGHT_OF_TENANT = 20
"""How many outcomes of a credential for all agents count at most, in a workflow, where another credential asks."""
MAX_WORKFLOW_AUTHORS = 100
"""How many other credentials' outcomes count in a workflow beside the caller's: those that reported last."""
MAX_SEED = 2**53 - 1
"""The largest integer that every reader of JSON reads exactly."""
WORKFLOW_VERSION = number("must be from 1 to 999999999", 1, 999_999_999)
WORKFLOW_SPEC = json_value(WORKFLOW_SPEC_BYTES)
DISCOUNT = number("must be above 0, at most 1", 0, 1, exclusive=True)
SCORE = number("must be from 0 to 1", 0, 1)
SEED = number(f"must be from 0 to {MAX_SEED}", 0, MAX_SEED)

# Shared context, and the configuration of a tenant.

CONTEXT_BYTES = 100_000
"""Bytes of a shared document."""
MAX_CONTEXT_DOCUMENTS = 1000
"""Shared documents of a tenant."""
MAX_CONTEXT_NAMES = 50
"""Shared documents that one assembly of a context asks for by name."""
MAX_CONTEXT_VERSIONS = 20
"""Versions of a shared document that are kept."""
MAX_CONTEXT_BYTES = 20_000_000
"""Bytes of all versions of a tenant's shared documents together."""
CONFIGURATION_BYTES = 64 * 1024
"""Bytes of a tenant's configuration, as JSON."""
CONTEXT_NAME = form(ID_FORM, "must be 1 to 64 of the characters A-Z a-z 0-9 . _ : -", minLength=1, maxLength=64)
CONTEXT_CONTENT = any_text(CONTEXT_BYTES)
CONTEXT_VERSION = number("must be from 1 to 999999999", 1, 999_999_999)
MEDIA_TYPE = form(
    r"[A-Za-z0-9!#$&^_.+-]{1,63}/[A-Za-z0-9!#$&^_.+-]{1,64}",
    "must be a media type without parameters, as in text/markdown",
    maxLength=128,
)
CONFIGURATION = json_value(CONFIGURATION_BYTES)

# The audit: the tool calls of runs, and events.

TOOL_CHARACTERS = 64
TOOL_INPUT_BYTES = 128 * 1024
"""Bytes of the input of a tool call, as JSON."""
TOOL_OUTPUT_BYTES = 10 * 1024
TOOL_ERROR_BYTES = 1024
MAX_TOOL_CALLS_AT_ONCE = 100
"""Tool calls of one request."""
MAX_TOOL_CALLS = 10_000
"""Tool calls of a run (schema.sql)."""
TOOL_CALL_ID = form(MEMORY_ID_FORM, "must be a tool call's id, a ULID")
TOOL = characters(TOOL_CHARACTERS)
TOOL_INPUT = json_value(TOOL_INPUT_BYTES)
TOOL_OUTPUT = json_value(TOOL_OUTPUT_BYTES)
TOOL_ERROR = any_text(TOOL_ERROR_BYTES)
INPUT_HASH = form(r"[0-9a-f]{64}", "must be a SHA-256 in 64 hex digits, in lower case", minLength=64, maxLength=64)
TOOL_MS = number(f"must be from 0 to {MAX_NUMBER}", 0, MAX_NUMBER)
TOOL_TOKENS = number(f"must be from 0 to {MAX_NUMBER}", 0, MAX_NUMBER)
TOOL_CALLS = Bound(
    lambda value: (
        None
        if 1 <= len(value) <= MAX_TOOL_CALLS_AT_ONCE
        else Violation(f"has {len(value)} calls, from 1 to {MAX_TOOL_CALLS_AT_ONCE} are allowed")
    ),
    {"minItems": 1, "maxItems": MAX_TOOL_CALLS_AT_ONCE},
)
ACT = form(r"[a-z][a-z._]{0,31}", "must be the name of an act", minLength=1, maxLength=32)
AUDIT_EVENT = form(r"[a-z][a-z_]{0,31}", "must be the name of an event", minLength=1, maxLength=32)

# Facts.

FACT_TEXT_BYTES = 256
"""Bytes of the subject, and of the predicate, of a fact."""
FACT_OBJECT_BYTES = 1024
FACT_ID_CHARACTERS = 64
FACT_SUBJECT = FACT_PREDICATE = text(FACT_TEXT_BYTES)
FACT_OBJECT = text(FACT_OBJECT_BYTES)
FACT_ID = form(
    rf"[!-~]{{1,{FACT_ID_CHARACTERS}}}",
    f"must be 1 to {FACT_ID_CHARACTERS} visible ASCII characters",
    minLength=1,
    maxLength=FACT_ID_CHARACTERS,
)
CONFIDENCE = number("must be from 0 to 1", 0, 1)
