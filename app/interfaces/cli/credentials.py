"""Commands that mint and revoke credentials, and take back what one has written."""

from dataclasses import asdict
from typing import Any

import click
import jwt

from app.bootstrap import build_credentials
from app.domain.limits import is_id
from app.domain.moments import wall_clock
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
)
from app.interfaces.cli.sections import CommandGroup
from app.runtime.runtime import Runtime
from app.services.access.credentials import DEFAULT_SECONDS
from app.services.access.scopes import ACCESS_SCOPES, READ_WRITE, AccessScope
from app.services.memories.undo import CredentialWrites
from app.storage.system import revocations

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
@as_json_option
@click.pass_context
def token(
    context: click.Context,
    tenant: str,
    agent: str | None,
    expires: int | None,
    speakers: tuple[str, ...],
    scopes: tuple[AccessScope, ...],
    *,
    admin: bool,
    for_ever: bool,
    as_json: bool,
) -> None:
    """Mint a credential, or revoke one.

    Without a command it mints one for --tenant and prints it.
    """
    if context.invoked_subcommand is not None:
        return
    if for_ever and expires is not None:
        raise click.UsageError("--expires and --for-ever exclude each other.")
    minted = build_credentials(quiet_settings()).issue(
        tenant,
        now=wall_clock(),
        agent_id=agent,
        admin=admin,
        scopes=scopes or READ_WRITE,
        seconds=None if for_ever else expires or DEFAULT_SECONDS,
        speakers=speakers or None,
    )
    claims = _claims(minted)
    CommandAnswer({"token": minted, "id": claims["jti"], "expires_at": claims.get("exp")}, minted).print(
        as_json=as_json
    )


@token.command()
@click.argument("credential", required=False)
@click.option("--tenant", type=Id(), required=True, help="Name the tenant whose credential it is.")
@click.option(
    "--issued-before", type=Moment(), help="Revoke all of the tenant's that were issued before this (RFC 3339)."
)
@prints_answer
def revoke(credential: str | None, tenant: str, issued_before: int | None) -> CommandAnswer:
    """Revoke CREDENTIAL, a token or its id.

    Within 30 seconds every replica refuses it.
    """
    if (credential is None) == (issued_before is None):
        raise click.UsageError("Give a credential or --issued-before.")
    if issued_before is not None and issued_before > wall_clock():
        raise click.UsageError("--issued-before is in the future: what is minted until then would not hold.")
    if credential is not None:
        credential_id = _id_of(credential, tenant)
        statement = revocations.revoke(tenant, credential_id)
        what: dict[str, Any] = {"id": credential_id}
    else:
        statement = revocations.revoke_all(tenant, issued_before or 0)
        what = {"issued_before": issued_before}

    run(with_runtime(lambda runtime: runtime.backends.database.run([statement]), tenant))
    text = "Revoked. Within 30 seconds every replica refuses it."
    return CommandAnswer({"revoked": {"tenant": tenant, **what}}, text)


@token.command()
@click.argument("credential")
@click.option("--tenant", type=Id(), required=True, help="Name the tenant whose credential it is.")
@click.option("--yes", is_flag=True, help="Do it; without this, what it has written is only counted.")
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
