"""Commands that list the outbox, and retry or drop dead letters."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import TypeVar

import click

from app.bootstrap import open_databases
from app.indexing.jobs.dead_letters import DeadLetters
from app.interfaces.cli.acting import administers
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings
from app.interfaces.cli.sections import CommandGroup
from app.storage.system.dead_letters import OutboxRow

T = TypeVar("T")


@click.group(cls=CommandGroup)
def outbox() -> None:
    """Look at vectors that wait for the index; retry or drop them.

    The outbox holds them until the index shows them. Dead letters are those that it has refused.
    """


@outbox.command("list")
@click.option("--dead", is_flag=True, help="Show only dead letters, which the index has refused.")
@click.option(
    "--most", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Show at most this many rows."
)
@prints_answer
async def list_rows(*, dead: bool, most: int) -> CommandAnswer:
    """Show rows, dead letters first, then the oldest."""
    rows = (await _with_letters(lambda letters: letters.list(only_dead=dead, limit=most)))[:most]
    return CommandAnswer({"rows": [asdict(row) for row in rows]}, "\n".join(map(_line, rows)) or "Nothing.")


@outbox.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Take every dead letter.")
@administers("outbox.retry")
@prints_answer
async def retry(ids: tuple[str, ...], *, every: bool) -> CommandAnswer:
    """Send dead letters again."""
    _check_choice(ids, every=every)
    return _answer(await _with_letters(lambda letters: letters.retry(ids)), "queued again")


@outbox.command()
@click.argument("ids", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Take every dead letter.")
@click.option("--yes", is_flag=True, help="Do it; without this, nothing is changed.")
@administers("outbox.drop", unless=lambda given: not given["yes"])
@prints_answer
async def drop(ids: tuple[str, ...], *, every: bool, yes: bool) -> CommandAnswer:
    """Take dead letters out of the outbox; their memories stay.

    An audit row tells of each.
    """
    _check_choice(ids, every=every)
    if not yes:
        raise click.UsageError("Dropped vectors are not sent any more. Add --yes to do it.")
    return _answer(await _with_letters(lambda letters: letters.drop(ids)), "dropped")


def _check_choice(ids: Sequence[str], *, every: bool) -> None:
    if bool(ids) == every:
        raise click.UsageError("Name the ids, or say --all.")


def _answer(ids: Sequence[str], done: str) -> CommandAnswer:
    return CommandAnswer({"ids": list(ids)}, "\n".join([*ids, f"{len(ids)} {done}."]))


def _line(row: OutboxRow) -> str:
    scope = f"{row.tenant_id}/{row.agent_id}"
    age = f"{row.age_ms // 1000} s"
    return f"{row.id}  {row.state:<11}  {row.operation}  {age}  {scope}  {row.dead or ''}".rstrip()


async def _with_letters(work: Callable[[DeadLetters], Awaitable[Sequence[T]]]) -> list[T]:
    """Do work with the outbox of every shard, and return what comes of all."""
    async with open_databases(quiet_settings()) as databases:
        return [row for database in databases.values() for row in await work(DeadLetters(database))]
