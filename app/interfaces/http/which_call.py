"""Which call is for what: the one source of the table in README, of the tags in the document, and of ``llms.txt``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CLOUDFLARES: Final = "agent memory, as Cloudflare has it"
"""The tag of Cloudflare Agent Memory's own paths."""


@dataclass(frozen=True, slots=True)
class MapRow:
    """What somebody wants, the call for it, and why it is not the one next to it."""

    tag: str
    wanted: str
    """In the words of who wants it, behind "I want to"."""
    call: str
    """The method and the path; of several, with commas between."""
    why: str


TAGS: Final = {
    "memory": "One text is one memory: keep it, find it, change it, delete it.",
    "profiles": "An agent's memory as a profile: whole conversations go in, and answers to questions come out.",
    "tools": "The tools by which a model uses the memory itself.",
    "facts": "What is known as subject, predicate and object, with a confidence.",
    "context": "All that an agent needs at the start of a turn, in one call.",
    "working memory": "What one running copy of an agent needs for a while, and the newest messages of its session.",
    "episodes": "Runs of agents, and what happened in them.",
    "workflows": "Ways of doing a task that compete, and how well each goes.",
    "shared context": "Documents that all agents of a tenant read, and its configuration.",
    "blobs": "Bytes that rows refer to.",
    "data": "What a tenant has: its memories, agents, credentials and use of its limits.",
    "transfer": "All of it out, and in again.",
    "archive": "What is old, out of the database and still there.",
    "audit": "Who did what: events, trails of runs, and administrative acts.",
    "operations": "Whether the service lives and is ready, and its metrics.",
    CLOUDFLARES: "Cloudflare Agent Memory's own paths, for its clients. What they have, the calls above have too.",
}
"""The tags in the order in which they are shown, each with what is in it."""
CALLS: Final = (
    MapRow("memory", "keep one thing that was said or learned", "POST /store", "a whole conversation goes to `ingest`"),
    MapRow(
        "profiles",
        "keep a whole conversation",
        "POST /profiles/{profile}/ingest",
        "a store of each message would lose their order, and who said what",
    ),
    MapRow(
        "facts",
        "keep a fact that I have taken apart myself",
        "POST /facts",
        "of a sentence, `/store` finds out by itself what it replaces",
    ),
    MapRow(
        "working memory",
        "keep something for this task alone",
        "PUT /working/{agent_id}/{instance}/{key}",
        "what is stored stays, and recalls find it",
    ),
    MapRow(
        "memory",
        "find what was kept, for a program or a prompt",
        "POST /recall",
        "it gives memories with scores, by filters; it does not answer",
    ),
    MapRow(
        "profiles",
        "have a question answered",
        "POST /profiles/{profile}/recall",
        "it answers in sentences that were said; `/recall` has filters and more options",
    ),
    MapRow(
        "context",
        "begin a turn with all that matters",
        "POST /context/assemble",
        "`/recall` reads long-term memory alone, without a budget for the others",
    ),
    MapRow("tools", "let a model decide", "GET /tools", "or `/mcp`: the calls above are for programs"),
    MapRow(
        "profiles",
        "see what is known, without a question",
        "POST /profiles/{profile}/summary",
        "a recall needs to know what is asked",
    ),
    MapRow("data", "look through memories page by page", "GET /memories", "a recall gives the best alone"),
    MapRow(
        "memory",
        "know why a memory is not returned",
        "POST /recall/explain",
        '`"explain": true` in a recall tells why each entry is returned',
    ),
    MapRow(
        "memory",
        "correct what a memory says",
        "POST /store",
        "store what holds now: it replaces the other, and the past is kept",
    ),
    MapRow(
        "memory",
        "change its metadata, its moment or its end",
        "PATCH /memories/{memory_id}",
        "the content is corrected by a store",
    ),
    MapRow(
        "profiles",
        "forget it, and be able to take that back",
        "POST /profiles/{profile}/memories/{memory_id}/forget",
        "a deletion is for good, and an administrator's",
    ),
    MapRow(
        "memory",
        "delete one for good, or all that pass a filter",
        "DELETE /memories/{memory_id}, POST /deletions",
        "to be rid of all of an agent, with a receipt: `DELETE /agents/{agent_id}`",
    ),
    MapRow(
        "memory",
        "take back what a session, a run or a credential has taught",
        "POST /undo",
        "it also restores what that had replaced",
    ),
    MapRow("data", "know which agents there are", "GET /agents", "`GET /usage` tells of limits too, and has no pages"),
    MapRow("transfer", "take everything out, or in", "GET /export, POST /import", "listings have no vectors and tiers"),
)
"""The map: what somebody wants, in the order in which one comes to want it."""


def tags() -> list[dict[str, str]]:
    """Return the tags of the OpenAPI document, in their order, each with the calls that are looked for there."""
    return [{"name": name, "description": "\n".join([said, *_lines(name)])} for name, said in TAGS.items()]


def table() -> str:
    """Return the map as a table in Markdown."""
    rows = (f"| {each.wanted} | {_code(each.call)} | {each.why} |" for each in CALLS)
    return "\n".join(["| I want to | call | not another one, because |", "|---|---|---|", *rows])


def lines() -> str:
    """Return the map as lines of a list."""
    return "\n".join(f"- To {each.wanted}: {_code(each.call)}; {each.why}." for each in CALLS)


def _lines(tag: str) -> Iterator[str]:
    yield from (f"\nTo {each.wanted}: {_code(each.call)}; {each.why}." for each in CALLS if each.tag == tag)


def _code(call: str) -> str:
    return ", ".join(f"`{each}`" for each in call.split(", "))
