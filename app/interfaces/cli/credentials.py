"""Commands that mint and revoke credentials, and take back what one has written."""

import asyncio
from dataclasses import asdict
from typing import Any

import click
import jwt

from app.bootstrap import build_credentials
from app.bootstrap.files import DATABASE_FILE
from app.domain import limits
from app.domain.errors import MemoryGatewayError
from app.domain.limits import is_id
from app.domain.moments import format_moment, wall_clock
from app.interfaces.cli.acting import administers, note_id
from app.interfaces.cli.parameters import (
    DEFAULT,
    CommandAnswer,
    Duration,
    Id,
    Moment,
    as_json_option,
    prints_answer,
    quiet_settings,
    run,
    with_runtime,
    with_shards,
)
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.http.schemas.credentials import CredentialAnswer
from app.interfaces.text import json_text
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.services.access.credentials import Principal
from app.services.access.scopes import (
    ACCESS_SCOPES,
    DEFAULT_SECONDS,
    EVERY_SCOPE,
    READ_WRITE,
    AccessScope,
    CredentialWanted,
    granted,
)
from app.services.memories.undo import CredentialWrites
from app.settings import Settings
from app.storage.credentials import CredentialFilter, ListedCredential
from app.storage.listing import ListPosition

_PAGE = 100
_RECORD_SECONDS = 20
"""How long a credential that was minted waits to be recorded."""
_DEFAULT_DAYS = DEFAULT_SECONDS // (24 * 3600)


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.option("--tenant", type=Id(), default=DEFAULT, show_default=True, help="Mint it for this tenant.")
@click.option("--agent", type=Id(), help="Mint it for this agent alone; without it, it reaches all of the tenant's.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(ACCESS_SCOPES),
    multiple=True,
    help="Let it do this: read what is remembered, write as agents do, or also what agents may not do, such as "
    "deleting, and listing every agent (admin). Without it, it reads and writes.",
)
@click.option("--admin", is_flag=True, help="The same as --scope admin.")
@click.option(
    "--expires",
    type=Duration(),
    help=f"Let it expire after this time, such as 12h; without it, after {_DEFAULT_DAYS} days.",
)
@click.option("--for-ever", is_flag=True, help="Let it hold until it is revoked.")
@click.option(
    "--speaker",
    "speakers",
    multiple=True,
    help="Let it speak for this person; give it again for each other. Without it, it speaks for anybody.",
)
@click.option(
    "--requests-per-minute",
    type=click.IntRange(1, 1_000_000),
    help="Let it make so many requests in a minute, of each replica; without it, as many as the settings say.",
)
@as_json_option
@administers("credential.mint", unless=lambda _: _is_of_another_command(), required=False)
@click.pass_context
def token(
    context: click.Context,
    tenant: str,
    agent: str | None,
    expires: int | None,
    speakers: tuple[str, ...],
    scopes: tuple[AccessScope, ...],
    requests_per_minute: int | None,
    *,
    admin: bool,
    for_ever: bool,
    as_json: bool,
) -> None:
    """Mint, list and revoke credentials.

    Without a command it mints one for --tenant and prints it, and records it where the database is there.
    """
    if context.invoked_subcommand is not None:
        return
    if for_ever and expires is not None:
        raise click.UsageError("--expires and --for-ever exclude each other.")
    limits.check(("speakers", limits.SPEAKERS, speakers or None))
    settings = quiet_settings()
    wanted = CredentialWanted(
        agent,
        EVERY_SCOPE if admin else granted(scopes or READ_WRITE),
        speakers or None,
        None if for_ever else expires or DEFAULT_SECONDS,
        requests_per_minute,
    )
    minted, principal = build_credentials(settings).mint(tenant, wanted, wall_clock())
    recorded, why = run(_record(settings, principal))
    note_id(principal.credential_id)
    CommandAnswer(
        {
            "token": minted,
            "id": principal.credential_id,
            "expires_at": None if principal.expires_at is None else principal.expires_at // 1000,
            "recorded": recorded,
        },
        minted,
        notes=[] if why is None else [f"It is listed once it is used: {why}"],
    ).print(as_json=as_json)


async def _record(settings: Settings, principal: Principal) -> tuple[bool, str | None]:
    """Record a credential where there is a database; return whether it was recorded, and what was in the way."""
    if not settings.on_cloudflare and not (settings.data_dir / DATABASE_FILE).exists():
        return False, None

    async def record(shards: Shards) -> bool:
        services = (await shards.of(principal.tenant_id)).services(principal.tenant_id)
        return await services.credentials.record(principal)

    try:
        async with asyncio.timeout(_RECORD_SECONDS):
            has_room = await with_shards(settings, record)
    except TimeoutError:
        return False, "the database did not answer in time."
    except MemoryGatewayError as error:  # who has the secret may mint without the database
        return False, error.detail
    return has_room, None if has_room else "the register of the tenant is full."


@token.command("list")
@click.option("--tenant", type=Id(), default=DEFAULT, show_default=True, help="List the credentials of this tenant.")
@click.option("--agent", type=Id(), help="List only those for this agent alone.")
@click.option("--minted-by", type=Id(), help="List only those that the credential with this id has minted.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Print at most this many.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each credential.")
def list_credentials(tenant: str, agent: str | None, minted_by: str | None, limit: int, *, as_json: bool) -> None:
    """List credentials, newest first.

    Each line says what one may do, who minted it and when it was last used. No token is shown: none is kept. A
    credential is in the list from when it was minted where the database was there, else from its first use on.
    """
    where = CredentialFilter(agent, minted_by)

    async def work(runtime: Runtime) -> tuple[int, bool]:
        registry, shown = runtime.services(tenant).credentials, 0
        after: ListPosition | None = None
        while True:
            page = await registry.list(where, limit=min(_PAGE, limit - shown), after=after)
            for credential in page.items:
                told = CredentialAnswer.model_validate(credential).model_dump(exclude_none=True)
                click.echo(json_text(told) if as_json else _line(credential))
            after, shown = page.after, shown + len(page.items)
            if after is None or shown == limit:
                return shown, after is not None

    shown, more = run(with_runtime(work, tenant))
    if not shown and not as_json:
        click.echo("nothing found")
    if more:
        click.echo(f"There are more than {limit}: --limit shows them.", err=True)


def _line(credential: ListedCredential) -> str:
    """Return a line about a credential."""
    agent = "all agents" if credential.agent_id is None else f"agent {credential.agent_id}"
    by = credential.minted_by or credential.channel or "unknown"
    used = "never" if credential.last_used_at is None else format_moment(credential.last_used_at)
    parts = [credential.id, "+".join(credential.scopes), agent, f"minted {format_moment(credential.minted_at)} by {by}"]
    parts.append(f"used {used}")
    if credential.revoked_at is not None:
        parts.append(f"revoked {format_moment(credential.revoked_at)}")
    elif credential.expires_at is not None:
        parts.append(
            f"{'expired' if credential.expires_at <= wall_clock() else 'until'} {format_moment(credential.expires_at)}"
        )
    return "  ".join(parts)


@token.command()
@click.argument("credential", required=False)
@click.option("--tenant", type=Id(), required=True, help="Name the tenant whose credential it is.")
@click.option(
    "--issued-before", type=Moment(), help="Revoke all of the tenant's that were issued before this (RFC 3339)."
)
@administers("credential.revoke")
@prints_answer
def revoke(credential: str | None, tenant: str, issued_before: int | None) -> CommandAnswer:
    """Revoke CREDENTIAL, a token or its id.

    Within 30 seconds every replica refuses it.
    """
    if (credential is None) == (issued_before is None):
        raise click.UsageError("Give a credential or --issued-before.")
    if issued_before is not None and issued_before > wall_clock():
        raise click.UsageError("--issued-before is in the future: what is minted until then would not hold.")
    recorded = True
    if credential is not None:
        credential_id = _id_of(credential, tenant)
        what: dict[str, Any] = {"id": credential_id}
        revoked = run(with_runtime(lambda runtime: runtime.services(tenant).credentials.revoke(credential_id), tenant))
        recorded = revoked.recorded
    else:
        what, before = {"issued_before": issued_before}, issued_before or 0
        run(with_runtime(lambda runtime: runtime.services(tenant).credentials.revoke_issued_before(before), tenant))
    unknown = ["No credential with this id is known here, minted or used: is it the right one?"]
    text = "Revoked. Within 30 seconds every replica refuses it."
    return CommandAnswer({"revoked": {"tenant": tenant, **what}}, text, notes=[] if recorded else unknown)


@token.command()
@click.argument("credential")
@click.option("--tenant", type=Id(), required=True, help="Name the tenant whose credential it is.")
@click.option("--yes", is_flag=True, help="Do it; without this, what it has written is only counted.")
@administers("credential.undo", unless=lambda given: not given["yes"])
@prints_answer
def undo(credential: str, tenant: str, *, yes: bool) -> CommandAnswer:
    """Revoke CREDENTIAL and take back all that it has written.

    CREDENTIAL is a token or its id.
    """
    credential_id = _id_of(credential, tenant)
    if not yes:
        found = run(with_runtime(lambda runtime: runtime.services(tenant).undo.count(credential_id), tenant))
        text = (
            f"It has written {found.memories} memories, changed {found.changed} others and reported {found.outcomes} "
            "outcomes of workflows. --yes undoes it."
        )
        return CommandAnswer({"id": credential_id, **asdict(found)}, text)

    async def work(runtime: Runtime) -> CredentialWrites:
        memories = changed = outcomes = 0
        while True:
            receipt = await runtime.services(tenant).undo.run(credential_id)
            memories, changed = memories + receipt.memories, changed + receipt.changed
            outcomes += receipt.outcomes
            if not receipt.more:
                return CredentialWrites(memories, changed, outcomes)

    done = run(with_runtime(work, tenant))
    text = (
        f"Revoked. Deleted {done.memories} memories, restored {done.changed} others, took back {done.outcomes} "
        "outcomes of workflows."
    )
    return CommandAnswer({"id": credential_id, **asdict(done)}, text)


def _is_of_another_command() -> bool:
    """Tell whether one of the commands below ``token`` is called, which mint nothing."""
    return click.get_current_context().invoked_subcommand is not None


def _id_of(credential: str, tenant: str) -> str:
    """Return the id of a token, or the id that was given in its place."""
    if is_id(credential):
        return credential
    claims = _claims(credential)
    if claims.get("tenant") != tenant or not is_id(claims.get("jti")):
        raise click.UsageError("This is neither an id nor a credential of the tenant.")
    return str(claims["jti"])


def _claims(token: str) -> dict[str, Any]:
    """Read a token without checking it: whoever runs this could mint one."""
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except jwt.InvalidTokenError as error:
        raise click.UsageError("This is neither an id nor a credential.") from error
    return claims
