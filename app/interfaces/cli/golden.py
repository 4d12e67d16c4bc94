"""The commands for golden questions: ``run``, ``keep``, ``list`` and ``remove``."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

from app.bootstrap import build_reader
from app.domain.errors import Conflict, InvalidRequest
from app.domain.golden import GoldenAnswer, GoldenComparison, GoldenQuestion, found_share
from app.interfaces.cli.acting import administers
from app.interfaces.cli.golden_file import lines_of, read_file, read_stored
from app.interfaces.cli.golden_report import comparison_data, comparison_text, from_report, run_data, run_text
from app.interfaces.cli.parameters import (
    CommandAnswer,
    Id,
    on_tenant,
    prints_answer,
    quiet_settings,
    run,
    tenant_option,
    with_runtime,
    with_shards,
)
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.cli.transfer import written
from app.retrieval.weights import Weights
from app.runtime.golden import GoldenSide, golden_questions, tenants_with_questions
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.settings import Settings

_file = click.Path(exists=True, dir_okay=False, path_type=Path)
tolerance_option = click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="The share of golden questions that may be lost.",
)


@click.group(cls=CommandGroup)
def golden() -> None:
    """Ask questions whose memories you know, before and after a change.

    What is kept for a tenant is asked before a re-embedding is switched. docs/evaluation.md has the form of the file.
    """


@golden.command("run")
@click.argument("file", required=False, type=_file)
@click.option("--tenant", type=Id(), help="Whose the questions are that name no tenant; without FILE: ask this one's.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Fail where a smaller share is found; not where two are compared.",
)
@tolerance_option
@click.option("--candidate", is_flag=True, help="Compare with the embedding model to which the data is being moved.")
@click.option(
    "--reader",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Compare with a reader whose weights are in this folder.",
)
@click.option("--weights", type=_file, help="Compare with scores that are made of these weights (a weights.toml).")
@click.option("--before", type=_file, help="Compare with what an earlier run has written.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the results to this file.")
@prints_answer
def run_questions(
    file: Path | None,
    tenant: str | None,
    threshold: float,
    tolerance: float,
    reader: Path | None,
    weights: Path | None,
    before: Path | None,
    out: Path | None,
    *,
    candidate: bool,
) -> CommandAnswer:
    """Ask the questions of FILE, or those that are kept.

    A table shows at which rank each was found. The exit code is 1 where less is found than the threshold, or where more
    is lost than the tolerance.
    """
    given = None if file is None else read_file(file, tenant)
    earlier = None if before is None else from_report(before)
    settings = quiet_settings()
    side = _side(settings, reader, weights) if candidate or reader or weights else None

    async def ask(shards: Shards) -> tuple[Sequence[GoldenAnswer], Sequence[GoldenAnswer] | None]:
        questions = given if given is not None else await _kept(shards, tenant)
        answers = await _asked(shards, questions, GoldenSide())
        return answers, None if side is None else await _asked(shards, questions, side, candidate=candidate)

    with nullcontext() if out is None else written(out, "'--out'") as results:
        now, other = run(with_shards(settings, ask, every=True))
        if results is not None:
            results.write(f"{json.dumps(run_data(now), ensure_ascii=False, indent=1)}\n".encode())
    if earlier is not None:
        return _compared(_matched(earlier, now), tolerance)
    if other is not None:
        return _compared(GoldenComparison(now, other), tolerance)
    return CommandAnswer(run_data(now), run_text(now), failed=found_share(now) < threshold)


@golden.command()
@click.argument("file", type=_file)
@tenant_option
@administers("golden.keep")
@on_tenant
async def keep(runtime: Runtime, file: Path, tenant: str) -> CommandAnswer:
    """Keep the questions of FILE for a tenant.

    They are asked before a re-embedding is switched. One of the same agent and qid takes the place of another.
    """
    kept, service = lines_of(file, tenant), golden_questions(runtime, tenant)
    await service.check_gold(read_stored(kept, tenant))
    await service.keep(kept)
    return CommandAnswer({"kept": len(kept)}, f"{len(kept)} questions are kept for {tenant}.")


@golden.command("list")
@tenant_option
@on_tenant
async def list_questions(runtime: Runtime, tenant: str) -> CommandAnswer:
    """Print the questions that are kept for a tenant, as lines of a file."""
    stored = await golden_questions(runtime, tenant).stored()
    lines = [one.question for one in stored]
    return CommandAnswer({"questions": [json.loads(line) for line in lines]}, "\n".join(lines) or "There are none.")


@golden.command()
@tenant_option
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is changed.")
@administers("golden.remove", unless=lambda given: not given["yes"])
@prints_answer
def remove(tenant: str, *, yes: bool) -> CommandAnswer:
    """Remove the questions that are kept for a tenant."""
    if not yes:
        raise click.UsageError(f"All golden questions of {tenant} are removed. Add --yes to do it.")
    removed = run(with_runtime(lambda runtime: golden_questions(runtime, tenant).remove(), tenant))
    return CommandAnswer({"removed": removed}, f"{removed} questions are removed.")


async def kept_of(runtime: Runtime) -> list[GoldenQuestion]:
    """Return the questions that the tenants of a shard keep.

    Raises:
        InvalidRequest: a newer version has written one.
        Unavailable: the database does not answer.
    """
    questions: list[GoldenQuestion] = []
    for tenant_id in await tenants_with_questions(runtime):
        questions += read_stored(await golden_questions(runtime, tenant_id).stored(), tenant_id)
    return questions


async def _kept(shards: Shards, tenant_id: str | None) -> list[GoldenQuestion]:
    questions: list[GoldenQuestion] = []
    for runtime in shards.runtimes.values():
        questions += [one for one in await kept_of(runtime) if tenant_id in {None, one.tenant_id}]
    if not questions:
        raise Conflict("No golden question is kept: nothing was asked, and so nothing has passed.")
    return questions


async def _asked(
    shards: Shards, questions: Sequence[GoldenQuestion], side: GoldenSide, *, candidate: bool = False
) -> list[GoldenAnswer]:
    """Ask questions, each in the shard where its tenant lives, in the order of tenants."""
    answers: list[GoldenAnswer] = []
    for tenant_id, of_tenant in groupby(sorted(questions, key=attrgetter("tenant_id")), attrgetter("tenant_id")):
        runtime, asked = await shards.of(tenant_id), list(of_tenant)
        await golden_questions(runtime, tenant_id).check_gold(asked)
        answers += await (_moved(runtime, side) if candidate else side).ask(runtime, asked)
    return answers


def _moved(runtime: Runtime, side: GoldenSide) -> GoldenSide:
    shadow = runtime.backends.configs.shadow
    if shadow is None:
        raise Conflict("No re-embedding is under way: memory-gateway reembed start.")
    return GoldenSide(shadow, side.reader, side.weights)


def _side(settings: Settings, reader: Path | None, weights: Path | None) -> GoldenSide:
    side = GoldenSide()
    if reader is not None:
        local = settings.model_copy(update={"reader": "local"})
        side = GoldenSide(reader=build_reader(local, reader))
    if weights is not None:
        try:
            side = GoldenSide(reader=side.reader, weights=Weights.of(weights))
        except ValueError as error:
            raise InvalidRequest(f"{weights} has no weights: {error}") from error
    return side


def _matched(before: Mapping[tuple[str, str, str], int | None], now: Sequence[GoldenAnswer]) -> GoldenComparison:
    """Compare with an earlier run, which has to have asked the same questions."""
    known = {(one.question.tenant_id, one.question.agent_id, one.question.id) for one in now}
    if known != before.keys():
        raise InvalidRequest("The earlier run has not asked the same questions.")
    ranks = [before[one.question.tenant_id, one.question.agent_id, one.question.id] for one in now]
    earlier = [GoldenAnswer(one.question, rank) for one, rank in zip(now, ranks, strict=True)]
    return GoldenComparison(earlier, now)


def _compared(comparison: GoldenComparison, tolerance: float) -> CommandAnswer:
    data: dict[str, Any] = comparison_data(comparison) | {"tolerance": tolerance}
    return CommandAnswer(data, comparison_text(comparison), failed=comparison.loss > tolerance)
