"""Parameter types and options that several commands share, and how a command runs and prints its answer."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn, TypeAlias, TypeVar

import click

from app.bootstrap import build_shards
from app.domain.errors import MemoryGatewayError, ShardUnavailable
from app.domain.limits import Bound, is_id
from app.domain.moments import milliseconds, parse_moment
from app.domain.shards import MAIN
from app.interfaces.cli.acting import note_counts
from app.interfaces.text import json_text
from app.observability.logs import configure_logging
from app.ports.database import Database
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.settings import Settings, load_settings, notices

T = TypeVar("T")

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(\d{1,9})([smhd])")
DEFAULT = "default"
"""The default tenant, and the default agent."""


class Id(click.ParamType[str]):
    """The id of a tenant or an agent."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the id's form."""
        if not is_id(value):
            self.fail("1 to 64 of the characters A-Z a-z 0-9 . _ : - are allowed", param, ctx)
        return value


class Bounded(click.ParamType[str]):
    """A text that a field of the API may have."""

    def __init__(self, bound: Bound, name: str = "text") -> None:
        """Take the field's bound, and the name of such a text in the help."""
        self.name = name
        self._bound = bound

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the text against the bound."""
        if (violation := self._bound.violation(value)) is not None:
            self.fail(violation.message, param, ctx)
        return value


class Duration(click.ParamType[int]):
    """A time span such as ``30d``, in seconds."""

    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read number and unit."""
        match = _DURATION.fullmatch(value)
        if match is None:
            self.fail("write a number and s, m, h or d, as in 30d", param, ctx)
        seconds = int(match[1]) * _UNITS[match[2]]
        if not seconds:
            self.fail("must be longer than nothing", param, ctx)
        return seconds


class JsonObject(click.ParamType[dict[str, Any]]):
    """A JSON object that a field of the API may have."""

    name = "json"

    def __init__(self, bound: Bound | None = None) -> None:
        """Take the field's bound; without one every object is taken."""
        self._bound = bound

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Read the JSON, and check the object against the bound."""
        try:
            read = json.loads(value, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            self.fail("is not valid JSON", param, ctx)
        if not isinstance(read, dict):
            self.fail("must be a JSON object", param, ctx)
        if self._bound is not None and (violation := self._bound.violation(read)) is not None:
            self.fail(violation.message, param, ctx)
        return read


class Moment(click.ParamType[int]):
    """A timestamp (RFC 3339), in milliseconds since the epoch."""

    name = "timestamp"

    def __init__(self, *, up: bool = False) -> None:
        """Say whether a part of a millisecond is rounded up."""
        self._up = up

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the timestamp."""
        try:
            return milliseconds(parse_moment(value), up=self._up)
        except ValueError as error:
            self.fail(str(error), param, ctx)


poll_option = click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Pause for so long between looks at the index.",
)
location_option = click.option(
    "--location",
    type=click.Choice(["wnam", "enam", "weur", "eeur", "apac", "oc"]),
    help="Put a new database near this region.",
)
jurisdiction_option = click.option(
    "--jurisdiction", type=click.Choice(["eu", "fedramp", "us"]), help="Keep a new database in this jurisdiction."
)
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
tenant_option = click.option(
    "--tenant", type=Id(), default=DEFAULT, show_default=True, help="Use the memories of this tenant."
)
agent_option = click.option(
    "--agent", type=Id(), default=DEFAULT, show_default=True, help="Use the memories of this agent."
)


def quiet_settings(*, folder_file: bool = True, kept_here: bool = True) -> Settings:
    """Load the settings, and log warnings and errors only, unless another level is set.

    Notices of the settings go to standard error, and the place of the memories too; without ``kept_here``, where
    another service keeps the memories, no place is shown. ``folder_file`` is as for ``load_settings``.
    """
    settings = load_settings(folder_file=folder_file)
    configure_logging(settings.log_format, "warning" if settings.log_level == "info" else settings.log_level)
    show_notices(settings, folder_file=folder_file)
    if kept_here:
        show_place(settings)
    return settings


def show_place(settings: Settings) -> None:
    """Tell on standard error where the memories are: a command that finds none may have looked in another folder."""
    click.echo(f"Memories are kept in {settings.kept_in}.", err=True)


def show_notices(settings: Settings, *, folder_file: bool = True) -> None:
    """Print the notices of the settings on standard error, where the log goes too.

    They name the files that settings are read from, and the services that are not the vendors'.
    """
    for notice in notices(settings, folder_file=folder_file):
        click.echo(notice, err=True)


def tell_shard(name: str, shards: int) -> None:
    """Tell on standard error which shard a command is at, where there are several."""
    if shards > 1:
        click.echo(f"... shard {name}", err=True)


async def each_shard(
    databases: Mapping[str, Database], work: Callable[[Database], Awaitable[Sequence[str]]]
) -> list[str]:
    """Do work on the database of every shard; return the failures of the work, and of shards that cannot be used.

    A shard that cannot be used does not stop the work on others, unless it is the main shard, whose error is raised.
    """
    failed: list[str] = []
    for shard, database in databases.items():
        tell_shard(shard, len(databases))
        try:
            failed += await work(database)
        except MemoryGatewayError as error:
            if shard == MAIN:
                raise
            unnamed = not isinstance(error, ShardUnavailable)
            failed.append(f"The shard {shard} cannot be used: {error.detail}" if unnamed else error.detail)
    return failed


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A command's answer: JSON for programs or a text for people; where it ``failed`` the exit status is 1."""

    data: dict[str, Any]
    text: str
    notes: Sequence[str] = ()
    """Lines for standard error."""
    failed: bool = False
    spaced: bool = True
    """Whether the JSON has spaces, for people."""

    def print(self, *, as_json: bool) -> None:
        """Print the answer, and end the process with 1 where the command failed."""
        click.echo(json_text(self.data, spaced=self.spaced) if as_json else self.text)
        for note in self.notes:
            click.echo(note, err=True)
        if self.failed:
            sys.exit(1)


Answering: TypeAlias = Callable[..., CommandAnswer | Awaitable[CommandAnswer]]


def prints_answer(command: Answering) -> Callable[..., None]:
    """Give a command the option ``--json``, and print the answer that it returns; an asynchronous command is run."""

    @as_json_option
    @wraps(command)
    def printing(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - a command's parameters
        answer = command(**given)
        answered = answer if isinstance(answer, CommandAnswer) else run(answer)
        note_counts(answered.data)
        answered.print(as_json=as_json)

    return printing


def on_tenant(command: Callable[..., Awaitable[CommandAnswer]]) -> Callable[..., None]:
    """Make a command of a function that takes the runtime of a tenant's shard beside the command's parameters."""

    @prints_answer
    @wraps(command)
    async def answering(tenant: str, **given: Any) -> CommandAnswer:  # noqa: ANN401 - a command's parameters
        return await with_runtime(lambda runtime: command(runtime, tenant=tenant, **given), tenant)

    return answering


def run(work: Awaitable[T]) -> T:
    """Run asynchronous work to its end."""

    async def awaited() -> T:
        return await work

    return asyncio.run(awaited())


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


async def with_runtime(work: Callable[[Runtime], Awaitable[T]], tenant_id: str) -> T:
    """Prepare the runtime of a tenant's shard, do one piece of work with it and close it.

    Data that cannot be reached raise an error at once.
    """

    async def of_shard(shards: Shards) -> T:
        return await work(await shards.of(tenant_id))

    return await with_shards(quiet_settings(), of_shard)


async def with_shards(settings: Settings, work: Callable[[Shards], Awaitable[T]], *, every: bool = False) -> T:
    """Prepare the first shard, or ``every`` shard, do one piece of work with the shards and close them."""
    shards = build_shards(settings, command=True)
    try:
        await shards.prepare(every=every)
        return await work(shards)
    finally:
        await shards.close()


@asynccontextmanager
async def indexing(runtime: Runtime) -> AsyncIterator[None]:
    """Send vectors to the index while memories are stored."""
    task = asyncio.create_task(runtime.indexer.run(runtime.pace.indexer_seconds))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
