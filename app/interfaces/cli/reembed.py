"""Commands that move the data to another embedding model while it is served (docs/operations.md)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import click
import structlog

from app.bootstrap import open_maintenance
from app.domain.errors import Conflict
from app.domain.golden import GoldenQuestion
from app.domain.memory import Scope
from app.domain.shards import MAIN
from app.indexing.jobs import parity as comparison
from app.indexing.jobs.parity import ParityQuery
from app.indexing.jobs.reembed import Reembedding, wait_until_shown
from app.interfaces.cli.acting import administers
from app.interfaces.cli.golden import kept_of, tolerance_option
from app.interfaces.cli.golden_file import read_file
from app.interfaces.cli.golden_report import comparison_text
from app.interfaces.cli.parameters import (
    CommandAnswer,
    poll_option,
    prints_answer,
    quiet_settings,
    tell_shard,
)
from app.interfaces.cli.progress import progress_bar
from app.interfaces.cli.reconcile import comparing, provision_indexes, rate_option
from app.interfaces.cli.sections import CommandGroup
from app.runtime.golden import GoldenSide, compare_sides
from app.runtime.maintenance import UNMETERED, Maintenance
from app.storage.system.reembedding import ReembeddingState

T = TypeVar("T")


@click.group(cls=CommandGroup)
def reembed() -> None:
    """Move the data to another embedding model, step by step.

    The steps are start, parity, switch and, in the end, drop.
    """


@reembed.command()
@poll_option
@rate_option
@administers("reembed.start")
@prints_answer
async def start(*, poll_seconds: float, calls_per_minute: float) -> CommandAnswer:
    """Begin to move to the model in the settings; copy the memories.

    What was stopped goes on where it was.
    """
    await provision_indexes(quiet_settings(), poll_seconds)

    async def copy(prepared: Maintenance) -> ReembeddingState:
        moving = prepared.reembedding
        state = await moving.begin(prepared.runtime.backends.embedder.config)
        await prepared.runtime.prepare_index(state.other)
        with comparing("Copying") as report:
            await prepared.comparison(state.other, repair=True, report=report).run()
        await moving.copied(state.left_out)
        click.echo("... waiting for the index to show what it was sent", err=True)
        await wait_until_shown(moving, prepared.runtime.indexer.round, prepared.runtime.pace.indexer_seconds)
        return await _under_way(moving)

    return _answer(await _each(calls_per_minute, copy, begins=True), _as_json, _report)


@reembed.command()
@prints_answer
async def status() -> CommandAnswer:
    """Tell how far the move is."""
    return _answer(await _each(UNMETERED, lambda prepared: _under_way(prepared.reembedding)), _as_json, _report)


@reembed.command()
@click.option(
    "--queries",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Ask the questions of this file, golden questions or such that do not say what they expect.",
)
@click.option(
    "--sample",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Ask for this many memories, without --queries.",
)
@rate_option
@prints_answer
async def parity(*, queries: Path | None, sample: int, calls_per_minute: float) -> CommandAnswer:
    """Compare what both models find.

    They are asked the queries of a file, or the first words of some memories.
    """
    given = None if queries is None else [_query(one) for one in read_file(queries, None, expecting=False)]

    async def compare(prepared: Maintenance) -> dict[str, Any]:
        moving = prepared.reembedding
        state = await _under_way(moving)
        database = prepared.runtime.backends.database
        wanted = given if given is not None else await comparison.sample(database, sample)
        asked = count(1)
        with progress_bar("Asking both") as move:
            result = await comparison.compare(
                database,
                prepared.side(state.used),
                prepared.side(state.other),
                wanted,
                rate_limiter=prepared.rate_limiter,
                report=lambda: move(next(asked), len(wanted)),
            )
        await moving.compared(asdict(result))
        return asdict(result)

    return _answer(await _each(calls_per_minute, compare), lambda result: result, _parity_report)


@reembed.command()
@click.option(
    "--force", is_flag=True, help="Do it without having compared the two, and whatever golden questions are lost."
)
@tolerance_option
@administers("reembed.switch")
@prints_answer
async def switch(*, force: bool, tolerance: float) -> CommandAnswer:
    """Have recalls use the new model from the next one on.

    The golden questions that tenants keep are asked of both models first, and nothing is switched where more of them
    are lost than the tolerance.
    """
    return _answer(await _switch(force=force, back=False, tolerance=tolerance), _as_json, _report)


@reembed.command()
@administers("reembed.rollback")
@prints_answer
async def rollback() -> CommandAnswer:
    """Have recalls use the old model again.

    Both are still kept up to date.
    """
    return _answer(await _switch(force=True, back=True), _as_json, _report)


@reembed.command()
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is changed.")
@administers("reembed.drop", unless=lambda given: not given["yes"])
@prints_answer
async def drop(*, yes: bool) -> CommandAnswer:
    """End the move: remove the index that is not in use.

    There is no way back but another move.
    """
    if not yes:
        raise click.UsageError("The index that is not in use is removed for good. Add --yes to do it.")

    async def remove(prepared: Maintenance) -> str:
        return str(await prepared.reembedding.drop(prepared.runtime.backends.index_of))

    return _answer(
        await _each(UNMETERED, remove), lambda dropped: {"dropped": dropped}, "Removed: the vectors of {}.".format
    )


def _answer(
    done: Mapping[str, T], to_json: Callable[[T], dict[str, Any]], to_text: Callable[[T], str]
) -> CommandAnswer:
    """Return what came of a command; by the shards' names where there are several."""
    if list(done) == [MAIN]:
        return CommandAnswer(to_json(done[MAIN]), to_text(done[MAIN]))
    text = "\n".join(f"Shard {name}:\n{to_text(each)}" for name, each in done.items())
    return CommandAnswer({"shards": {name: to_json(each) for name, each in done.items()}}, text)


async def _each(
    calls_per_minute: float, work: Callable[[Maintenance], Awaitable[T]], *, begins: bool = False
) -> dict[str, T]:
    """Do work in every shard that moves to another model; with ``begins`` in each that is not there yet.

    Where there is one shard, the work itself says that there is nothing to do.
    """
    done: dict[str, T] = {}
    async with open_maintenance(quiet_settings(), calls_per_minute) as shards:
        for prepared in shards:
            moves = await prepared.reembedding.state() is not None
            there = prepared.runtime.config == prepared.runtime.backends.embedder.config
            if moves or (begins and not there) or len(shards) == 1:
                tell_shard(prepared.shard, len(shards))
                done[prepared.shard] = await work(prepared)
    if not done:
        raise Conflict("There is nothing to do in any shard.")
    return done


async def _switch(*, force: bool, back: bool, tolerance: float = 1.0) -> dict[str, ReembeddingState]:
    async def switch(prepared: Maintenance) -> ReembeddingState:
        moving = prepared.reembedding
        state = await _under_way(moving)
        old = state.used if state.other == state.target else state.other
        to = old if back else state.target
        prepared.side(to)  # what cannot be embedded with here cannot be served by the same settings elsewhere
        await moving.switch(to, force=force)
        return await _under_way(moving)

    if not back:
        await _each(UNMETERED, lambda prepared: _ask_golden(prepared, tolerance, force=force))
    return await _each(UNMETERED, switch)


async def _ask_golden(prepared: Maintenance, tolerance: float, *, force: bool) -> None:
    """Ask both models the golden questions of a shard's tenants.

    Raises:
        Conflict: the other model loses more of them than the tolerance, and the switch is not forced.
    """
    state = await _under_way(prepared.reembedding)
    if not state.complete or state.behind:
        return  # the switch refuses that
    questions = await kept_of(prepared.runtime)
    if not questions:
        click.echo("No golden question is kept: memory-gateway golden keep.", err=True)
        return
    comparison = await compare_sides(prepared.runtime, questions, GoldenSide(state.used), GoldenSide(state.other))
    click.echo(comparison_text(comparison), err=True)
    if comparison.loss <= tolerance:
        return
    lost = f"{len(comparison.lost)} of {len(questions)} golden questions are lost, over the tolerance of {tolerance:g}"
    if not force:
        raise Conflict(f"{lost}. Nothing was switched. Or add --force.")
    click.echo(f"WARNING: {lost}. It is switched all the same, because of --force.", err=True)
    structlog.get_logger().warning("golden_questions_lost", lost=len(comparison.lost), asked=len(questions))


async def _under_way(moving: Reembedding) -> ReembeddingState:
    state = await moving.state()
    if state is None:
        raise Conflict("No re-embedding is under way: memory-gateway reembed start.")
    return state


def _query(question: GoldenQuestion) -> ParityQuery:
    scope = Scope(question.tenant_id, question.agent_id)
    return ParityQuery(scope, question.text, next(iter(question.gold), None))


def _as_json(state: ReembeddingState) -> dict[str, Any]:
    named = {name: str(getattr(state, name)) for name in ("used", "other", "target")}
    return asdict(state) | named


def _report(state: ReembeddingState) -> str:
    lines = [
        f"In use: {state.used}. Kept beside it: {state.other}. Moving to: {state.target}.",
        f"{'Every memory is in both.' if state.complete else 'Not every memory is in both yet: reembed start.'}",
    ]
    if state.behind:
        lines.append("The other index does not show yet all it was sent.")
    if state.parity is not None:
        lines.append(
            f"Compared over {state.parity['queries']} queries: overlap at 10 is {state.parity['overlap']:.3f}."
        )
    return "\n".join(lines)


def _parity_report(result: dict[str, Any]) -> str:
    lines = [
        f"{'queries':<32} {result['queries']}",
        f"{'overlap at 10, mean':<32} {result['overlap']:.3f}",
        f"{'overlap at 10, worst':<32} {result['worst']:.3f}",
        f"{'mean reciprocal rank, in use':<32} {result['reciprocal_before']:.3f}",
        f"{'mean reciprocal rank, the other':<32} {result['reciprocal_after']:.3f}",
    ]
    return "\n".join(lines)
