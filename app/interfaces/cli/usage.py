"""Commands that tell which agents a tenant has, and what it uses of its limits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from app.domain.quotas import LIMIT_NAMES, ModelUsage, RowCounts, Usage
from app.interfaces.cli.parameters import CommandAnswer, Id, on_tenant, tenant_option
from app.interfaces.http.schemas.browse import AgentUsageAnswer, ListedAgentAnswer, ModelUsageAnswer, UsageAnswer
from app.runtime.runtime import Runtime
from app.storage.agents import KnownAgent
from app.storage.quotas import MAX_AGENTS

_PAGE = 100


@click.command()
@tenant_option
@on_tenant
async def agents(runtime: Runtime, tenant: str) -> CommandAnswer:
    """List a tenant's agents and how much each of them holds."""
    browser, agents, after = runtime.services(tenant).browser, list[KnownAgent](), None
    while len(agents) < MAX_AGENTS:
        page = await browser.agents(None, limit=_PAGE, after=after)
        agents, after = [*agents, *page.items], page.after
        if after is None:
            break
    listed = [ListedAgentAnswer.model_validate(one).model_dump(exclude_none=True) for one in agents]
    rows = [[str(one.get(name, "")) for name in ListedAgentAnswer.model_fields] for one in listed]
    head = ["agent", "memories", "bytes", "first stored", "last stored"]
    text = _table(head, rows) if rows else f"The tenant {tenant} has no agents."
    return CommandAnswer({"agents": listed}, text + ("\nThere are more." if after else ""))


@click.command()
@tenant_option
@click.option("--agent", type=Id(), help="Tell of this agent alone.")
@on_tenant
async def usage(runtime: Runtime, tenant: str, agent: str | None) -> CommandAnswer:
    """Show what a tenant and its agents use of their limits.

    It tells what GET /usage tells. Memories that have expired count until memory-gateway prune deletes them.
    """
    browser = runtime.services(tenant).browser
    if agent is not None:
        return _usages(tenant, None, [await browser.usage_of(agent)], None, None)
    return _usages(tenant, *await browser.usage(), await browser.model_usage())


def _usages(
    tenant: str, whole: Usage | None, agents: Sequence[Usage], kept: RowCounts | None, models: ModelUsage | None
) -> CommandAnswer:
    answer: dict[str, Any] = {"agents": [_as_json(usage) for usage in agents]}
    rows = [_row(f"agent {usage.agent_id}", usage) for usage in agents]
    if whole is not None and kept is not None:
        answer = {"tenant": _as_json(whole), "kept": kept.counts} | answer
        rows.insert(0, _row(f"tenant {tenant}", whole))
    text = _table(["", *(name.replace("_", " ") for name in LIMIT_NAMES)], rows) + _cut(agents)
    text += f"\n\nbytes by tier:\n{counts_text((whole or agents[0]).bytes_by_tier)}"
    if kept is not None:
        text += f"\n\nkept beside the memories:\n{counts_text(kept.counts)}"
    if models is not None:
        answer["models"] = ModelUsageAnswer.model_validate(models).model_dump(exclude_none=True)
        limits, used = models.limits, (models.calls_today, models.tokens_today)
        text += f"\n\nlanguage models today: {_of(used[0], limits.calls_per_day)} calls"
        text += f", {_of(used[1], limits.tokens_per_day)} tokens"
    return CommandAnswer(answer, text)


def counts_text(counts: Mapping[str, int]) -> str:
    """Write a count a line."""
    return "\n".join(f"{name.replace('_', ' '):<18} {count}" for name, count in counts.items())


def _of(count: int, most: int | None) -> str:
    return f"{count} of {'unlimited' if most is None else most}"


def _row(whose: str, usage: Usage) -> list[str]:
    limits = asdict(usage.limits)
    used = zip(LIMIT_NAMES, (usage.memories, usage.bytes, usage.stores_this_minute), strict=True)
    return [whose, *(_of(count, limits[name]) for name, count in used)]


def _as_json(usage: Usage) -> dict[str, Any]:
    """Return usage as ``GET /usage`` has it."""
    answer = UsageAnswer if usage.agent_id is None else AgentUsageAnswer
    return answer.model_validate(usage).model_dump(exclude_none=True)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (zip(row, widths, strict=True) for row in (head, *rows))
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in line).rstrip() for line in lines)


def _cut(agents: Sequence[Usage]) -> str:
    if len(agents) < MAX_AGENTS:
        return ""
    return f"\nThese are the {MAX_AGENTS} agents with the most bytes; there may be more."
