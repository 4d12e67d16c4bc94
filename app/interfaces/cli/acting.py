"""Commands that do administrative acts: the act is declared with the command, and its row is written around it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

from app.bootstrap import build_credentials, open_for_act
from app.domain.acts import DEPLOYMENT, PURPOSE, Act, ActName
from app.domain.errors import ConfigurationError, MemoryGatewayError, Unavailable
from app.domain.limits import is_id
from app.observability.logs import configure_logging
from app.services.access.acting import Acting, begin
from app.settings import Settings, load_settings
from app.storage.acts import ActRows

_Command = TypeVar("_Command", bound=Callable[..., Any])
_COUNTS = "memory_gateway.counts"
"""The key under which the context of a command has what its act has concerned."""
_ID = "memory_gateway.id"
"""The key under which it has the id of what was made."""
_TRY_SECONDS = 10.0
_IDS: Mapping[str, str] = {
    "agent": "agent_id",
    "credential": "credential_id",
    "memory_id": "memory_id",
    "name": "name",
    "object_id": "archive_id",
    "snapshot_id": "snapshot_id",
    "target": "target",
    "tenant": "tenant_id",
    "undo": "consolidation_id",
}
"""The parameters of commands that name what an act is about, and what its row calls them."""


def administers(
    act: ActName,
    *,
    unless: Callable[[Mapping[str, Any]], object] = lambda _: False,
    fallback: str = DEPLOYMENT,
    required: bool = True,
) -> Callable[[_Command], _Command]:
    """Declare that a command does an act: its row is written before the command runs, and the outcome after it.

    The row is the tenant's that the command names, by ``--to`` or ``--tenant``; else it is of all tenants.

    Args:
        act: The act's name.
        fallback: The tenant where the command names none.
        required: Whether the command is refused where its row cannot be written; else standard error tells so.
        unless: Tells by the command's parameters whether it only reads, or does nothing.
    """

    def declare(command: _Command) -> _Command:
        @wraps(command)
        def declared(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - as click calls it
            if unless(given):
                return command(*args, **given)
            written = CommandAct(act, given, fallback)
            asyncio.run(written.begin() if required else written.try_to_begin())
            try:
                answer = command(*args, **given)
            except BaseException as error:
                asyncio.run(written.end(error))
                raise
            asyncio.run(written.end(None))
            return answer

        declared.act = act  # type: ignore[attr-defined]  # by it a command is known to be declared
        return declared  # type: ignore[return-value]  # of the same parameters

    return declare


def note_id(id_: str | None) -> None:
    """Keep the id of what the command that runs has made, for the row of its act."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_ID] = id_


def note_counts(counted: Mapping[str, object]) -> None:
    """Keep what the act of the command that runs has concerned, for its row."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_COUNTS, {}).update(counted)


@dataclass(slots=True)
class CommandAct:
    """The act of a command. Each of its writings opens the database anew: the command may want it for itself."""

    name: ActName
    given: Mapping[str, Any]
    fallback: str = DEPLOYMENT
    acting: Acting | None = None
    given_up: bool = False

    async def begin(self) -> None:
        """Write that the act begins, unless there is nothing to write to yet.

        Raises:
            MemoryGatewayError: the row cannot be written; the command must not run.
        """
        settings, tenant_id = _settings(), self._tenant_id
        async with open_for_act(settings, tenant_id) as run:
            if run is not None:
                by, key = Act("", self.name, operator=operator()), _key(settings)
                subject = {_IDS[name]: value for name, value in self.given.items() if name in _IDS}
                if subject.get("tenant_id") == tenant_id:
                    del subject["tenant_id"]
                self.acting = await begin(
                    self.name, tenant_id, run, key=key, late=lambda *_: None, by=by, subject=subject
                )

    async def try_to_begin(self) -> None:
        """Write that the act begins, or tell on standard error that it could not be written."""
        try:
            async with asyncio.timeout(_TRY_SECONDS):
                await self.begin()
        except (Unavailable, TimeoutError) as error:
            self.given_up = True
            why = error.detail if isinstance(error, Unavailable) else "the database does not answer."
            click.echo(f"{self.name} leaves no row: {why}", err=True)

    async def end(self, error: BaseException | None) -> None:
        """Write the outcome; where that cannot be done the act is done all the same, and standard error tells so."""
        if isinstance(error, SystemExit) and not error.code:
            error = None
        if self.given_up:
            return
        try:
            if self.acting is None:
                await self.begin()  # the command has made the database, or brought it to a schema that has the table
            if self.acting is None:
                return
            context = click.get_current_context(silent=True)
            if context is not None:
                self.acting.counts.update(context.meta.get(_COUNTS, {}))
                self.acting.subject["id"] = context.meta.get(_ID)
            async with open_for_act(_settings(), self.acting.tenant_id) as run:
                if run is not None:
                    await run([ActRows(self.acting.tenant_id).end(self.acting.ended_by(error))])
        except MemoryGatewayError as unwritten:
            click.echo(f"The outcome of {self.name} could not be written: {unwritten.detail}", err=True)

    @property
    def _tenant_id(self) -> str:
        if self.given.get("deployment"):
            return DEPLOYMENT
        return self.given.get("target") or self.given.get("tenant") or self.fallback


@asynccontextmanager
async def acted(name: ActName) -> AsyncIterator[None]:
    """Do an act of all tenants within a command that does it again and again."""
    written = CommandAct(name, {})
    await written.begin()
    try:
        yield
    except BaseException as error:
        await written.end(error)
        raise
    await written.end(None)


def operator() -> str:
    """Return who runs the command, as the operating system names them, or their number where they have no name.

    Of root it is told for whom sudo has run the command: the variable is root's own word.
    """
    if not hasattr(os, "getuid"):
        return os.environ.get("USERNAME", "")[:64]
    import pwd  # noqa: PLC0415 - it is not there on every system

    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = f"uid {os.getuid()}"
    by = os.environ.get("SUDO_USER", "") if os.getuid() == 0 else ""
    return (f"{name} for {by}" if is_id(by) else name)[:64]


def _settings() -> Settings:
    """Load the settings, and log nothing of the opening: the command itself tells what is wrong with it."""
    settings = load_settings()
    configure_logging(settings.log_format, "error")
    return settings


def _key(settings: Settings) -> bytes | None:
    """Return the key that signs; None where a command that needs no secret is run without one."""
    try:
        return build_credentials(settings).keys(PURPOSE)[0]
    except ConfigurationError:
        return None
