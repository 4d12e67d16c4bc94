"""The command line: ``memory-gateway``."""

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from app.bootstrap import build_credentials, build_runtime, open_database, wall_clock
from app.diagnosis import Check, diagnose
from app.errors import ConfigurationError, MemoryGatewayError
from app.gateway import Recall
from app.limits import is_id
from app.migrations.runner import migrate as apply_migrations
from app.model import Filter, NewMemory, format_moment, milliseconds, parse_moment
from app.observability.logs import configure_logging
from app.runtime import Runtime
from app.server import serve_http
from app.settings import Settings, load_settings

T = TypeVar("T")

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DEFAULT = "default"


def main() -> None:
    """Run a command; a mistake or an outage is told in one line, without a traceback."""
    try:
        cli()
    except MemoryGatewayError as error:
        click.echo(f"Error: {error.detail}", err=True)
        sys.exit(1)


class _Id(click.ParamType[str]):
    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_id(value):
            self.fail("1 to 64 of the characters A-Z a-z 0-9 . _ : - are allowed", param, ctx)
        return value


class _Duration(click.ParamType[int]):
    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,9})([smhd])", value)
        if match is None:
            self.fail("write a number and s, m, h or d, as in 30d", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


class _JsonObject(click.ParamType[dict[str, Any]]):
    name = "json"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        try:
            read = json.loads(value)
        except ValueError:
            self.fail("is not valid JSON", param, ctx)
        if not isinstance(read, dict):
            self.fail("must be a JSON object", param, ctx)
        return read


class _Moment(click.ParamType[int]):
    name = "timestamp"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return milliseconds(parse_moment(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_tenant = click.option("--tenant", type=_Id(), default=_DEFAULT, show_default=True, help="Whose memory.")
_agent = click.option("--agent", type=_Id(), default=_DEFAULT, show_default=True, help="Which agent's memory.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="memory-gateway")
def cli() -> None:
    """Long-term memory for AI agents. Settings come from the environment or a .env file."""


@cli.command()
@click.option("--host", help="Address to listen on, instead of HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on, instead of PORT.")
@click.option("--quickstart", is_flag=True, help="Once ready, print commands to try, with a credential.")
def serve(host: str | None, port: int | None, *, quickstart: bool) -> None:
    """Migrate and serve over HTTP."""
    settings = load_settings(host=host, port=port)
    configure_logging(settings.log_format, settings.log_level)
    try:
        served = asyncio.run(serve_http(settings, announce=click.echo if quickstart else None))
    except KeyboardInterrupt:  # how uvicorn passes on the Ctrl-C that it has obeyed
        return
    if not served:
        sys.exit(1)


@cli.command()
@_as_json
def migrate(*, as_json: bool) -> None:
    """Bring the database's schema up to date."""
    applied = _run(_migrate(_quiet_settings()))
    _print({"applied": applied}, "\n".join(f"applied {name}" for name in applied) or "nothing to apply", as_json)


@cli.command()
@click.option("--tenant", type=_Id(), required=True, help="The tenant it speaks for.")
@click.option("--agent", type=_Id(), help="The only agent it is good for; without it, all of the tenant's.")
@click.option("--admin", is_flag=True, help="Allow what agents may not do, such as deleting.")
@click.option("--expires", type=_Duration(), help="How long it holds, such as 30d or 12h; without it, for good.")
@_as_json
def token(tenant: str, agent: str | None, expires: int | None, *, admin: bool, as_json: bool) -> None:
    """Mint a credential."""
    credentials = build_credentials(_quiet_settings())
    minted = credentials.issue(tenant, now=wall_clock(), agent_id=agent, admin=admin, seconds=expires)
    _print({"token": minted}, minted, as_json)


@cli.command()
@click.argument("content")
@_tenant
@_agent
@click.option("--metadata", type=_JsonObject(), default="{}", help="A JSON object.")
@click.option("--session", help="The conversation it comes from.")
@click.option("--occurred-at", type=_Moment(), help="When it happened (RFC 3339).")
@_as_json
def store(
    content: str,
    tenant: str,
    agent: str,
    metadata: dict[str, Any],
    session: str | None,
    occurred_at: int | None,
    *,
    as_json: bool,
) -> None:
    """Store CONTENT, or what comes on standard input where CONTENT is -."""
    text = sys.stdin.read() if content == "-" else content
    memory = NewMemory(text, metadata, session, occurred_at)

    def put(runtime: Runtime) -> Awaitable[str]:
        return runtime.gateway(tenant).store(agent, memory)

    memory_id = _run(_with_runtime(put))
    _print({"stored": True, "id": memory_id}, f"stored {memory_id}", as_json)


@cli.command()
@click.argument("query")
@_tenant
@_agent
@click.option("--top-k", type=int, default=5, show_default=True, help="The most entries to return.")
@click.option("--filter", "wanted", type=_JsonObject(), default="{}", help="Metadata that must match, as JSON.")
@_as_json
def recall(query: str, tenant: str, agent: str, top_k: int, wanted: dict[str, Any], *, as_json: bool) -> None:
    """Print the memories most similar to QUERY."""
    where = Filter(metadata=wanted)

    def ask(runtime: Runtime) -> Awaitable[Recall]:
        return runtime.gateway(tenant).recall(agent, query, top_k=top_k, where=where)

    found = _run(_with_runtime(ask))
    entries = [
        {
            "id": entry.id,
            "content": entry.content,
            "metadata": entry.metadata,
            "score": entry.score,
            "created_at": format_moment(entry.created_at),
        }
        for entry in found.entries
    ]
    lines = [f"{entry.score:6.3f}  {entry.content}" for entry in found.entries]
    _print({"entries": entries, "degraded": list(found.degraded)}, "\n".join(lines) or "nothing found", as_json)


@cli.command()
@_as_json
def doctor(*, as_json: bool) -> None:
    """Check every part, with advice for what fails; exits with 1 if anything does."""
    checks = _run(_diagnose(_quiet_settings()))
    lines = [f"{'ok  ' if check.ok else 'FAIL'}  {check.name}: {check.finding}" for check in checks]
    found = [{"name": check.name, "ok": check.ok, "finding": check.finding} for check in checks]
    _print({"checks": found}, "\n".join(lines), as_json)
    if not all(check.ok for check in checks):
        sys.exit(1)


def _quiet_settings() -> Settings:
    """Return the settings with a log that leaves standard error to what matters."""
    settings = load_settings()
    configure_logging(settings.log_format, "warning" if settings.log_level == "info" else settings.log_level)
    return settings


def _run(work: Awaitable[T]) -> T:
    async def awaited() -> T:
        return await work

    return asyncio.run(awaited())


def _print(data: dict[str, Any], text: str, as_json: bool) -> None:  # noqa: FBT001 - a command's flag
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else text)


async def _with_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do one piece of work and stop; data that cannot be reached is an error here, not waited for."""
    runtime = build_runtime(_quiet_settings())
    try:
        await runtime.prepare()
        return await work(runtime)
    finally:
        await runtime.close()


async def _migrate(settings: Settings) -> list[str]:
    database, close = open_database(settings)
    try:
        return await apply_migrations(database)
    finally:
        await close()


async def _diagnose(settings: Settings) -> list[Check]:
    try:
        runtime = build_runtime(settings)
    except ConfigurationError as error:
        return [Check("settings", ok=False, finding=error.detail)]
    try:
        await runtime.start()
        return await diagnose(runtime)
    except MemoryGatewayError as error:
        return [Check("data", ok=False, finding=error.detail)]
    finally:
        await runtime.close()
