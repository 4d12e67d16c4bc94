"""The command ``deploy cloudflare``: all that a service needs in an account by one command, and its end."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from dotenv import dotenv_values

from app.adapters.cloudflare.account import Placement
from app.adapters.cloudflare.deployment.deploying import DeploymentOutcome
from app.adapters.cloudflare.deployment.plan import SETTING, DeploymentPlan
from app.adapters.cloudflare.deployment.steps import DeploymentStep, StepStatus, in_state
from app.bootstrap import DeploymentOptions, build_deployment, build_destruction
from app.domain.errors import ConfigurationError
from app.interfaces.cli.env_file import write_settings
from app.interfaces.cli.parameters import (
    CommandAnswer,
    as_json_option,
    jurisdiction_option,
    location_option,
    poll_option,
    run,
)
from app.interfaces.cli.sections import CommandGroup
from app.observability.logs import configure_logging
from app.settings import Settings, load_settings

_DEFAULT_NAME = "memory-gateway"
_ASKED = 2
_INCOMPLETE = 3
_PASSED = ("openai_api_key", "reranker_api_key", "language_model_api_key")
"""Keys of other services: they are in no file of this command, and the container takes them from the environment."""
_WORKERS_AI = "Whether the token may use Workers AI (Workers AI: Read) shows with the first embedding: see doctor."
_RIGHTS = (
    "The token may look at all of this. Whether it may change it is tried with --yes before anything is made, by "
    "requests without a name, of which nothing is made."
)


class DeploymentName(click.ParamType[str]):
    """The name of a deployment, from which the names of a database, a bucket and a Worker follow."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the form that a bucket's name and a Worker's have."""
        plain = value.replace("-", "a")
        fits = 3 <= len(value) <= 58 and plain.isascii() and plain.isalnum() and plain == plain.lower()  # noqa: PLR2004
        if not fits or not value[0].isalpha() or value.endswith("-"):
            self.fail("3 to 58 of a-z 0-9 - are allowed, the first a letter, the last no hyphen", param, ctx)
        return value


name_option = click.option(
    "--name", type=DeploymentName(), default=_DEFAULT_NAME, show_default=True, help="Name the deployment."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")


@click.group(cls=CommandGroup)
def deploy() -> None:
    """Make all that a service needs in an account, or take it back."""


@deploy.group(cls=CommandGroup, invoke_without_command=True)
@name_option
@dry_run_option
@click.option("--yes", is_flag=True, help="Do what the plan says.")
@location_option
@jurisdiction_option
@click.option("--blobs/--no-blobs", default=True, show_default=True, help="Make an R2 bucket for blobs.")
@click.option("--edge/--no-edge", default=True, show_default=True, help="Deploy the edge Worker, by wrangler.")
@click.option("--wrangler", envvar="WRANGLER", help="Use this wrangler, in place of npx wrangler.")
@click.option(
    "--edge-sources",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Take the Worker from this folder, a copy of deploy/edge.",
)
@click.option(
    "--write-env",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the service's settings in this file, NAME.env by default.",
)
@click.option("--new-secrets", is_flag=True, help="Draw secrets anew where the file lost them.")
@poll_option
@as_json_option
@click.pass_context
def cloudflare(
    ctx: click.Context,
    /,
    name: str,
    location: str | None,
    jurisdiction: str | None,
    write_env: Path | None,
    *,
    dry_run: bool,
    yes: bool,
    new_secrets: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - the fields of DeploymentOptions of the same names
) -> None:
    """Make or repair the deployment NAME in a Cloudflare account.

    That is a D1 database, a Vectorize index with its metadata indexes, an R2 bucket, an edge Worker and its secrets,
    and a file of settings for the service. It is safe to run again. The exit status is 0 when all is there, 1 after an
    error, 2 without --dry-run or --yes, 3 where a step is left to you.
    """
    if ctx.invoked_subcommand is not None:
        return
    if dry_run and yes:
        raise click.UsageError("Give --dry-run or --yes, not both.")
    settings = _settings()
    path = write_env or Path(f"{name}.env")
    if yes:
        write_settings(path, {})  # what cannot be written is to be known before anything is made
    held = _held(path)
    given = DeploymentOptions(name, Placement(location, jurisdiction), **options)
    deployment, close = build_deployment(settings, given, path, held, lambda kept: write_settings(path, kept))

    async def work() -> tuple[DeploymentPlan, DeploymentOutcome | None]:
        try:
            plan = await deployment.plan(new_secrets=new_secrets)
            _show(plan.steps, as_json=as_json)
            return plan, await deployment.apply(plan, _tell) if yes else None
        finally:
            await close()

    plan, outcome = run(work())
    _answer(settings, plan, outcome, path).print(as_json=as_json)
    sys.exit(_status(plan.steps, asked=not (dry_run or yes)))


@cloudflare.command()
@name_option
@dry_run_option
@click.option("--yes", is_flag=True, help="Delete what the plan names.")
@click.option("--with-data", is_flag=True, help="Delete a bucket that holds blobs, with them.")
@as_json_option
@click.pass_context
def destroy(ctx: click.Context, name: str, *, dry_run: bool, yes: bool, with_data: bool, as_json: bool) -> None:
    """Delete the deployment NAME with all memories that it holds.

    What no deployment made is never deleted. Without --name the name has to be typed. It is safe to run again.
    """
    if dry_run and yes:
        raise click.UsageError("Give --dry-run or --yes, not both.")
    if yes and ctx.get_parameter_source("name") is not ParameterSource.COMMANDLINE:
        typed = click.prompt(f"This deletes {name} with all memories. Type its name to go on", err=True)
        if typed != name:
            raise click.ClickException("This is not its name. Nothing was changed.")
    destruction, close = build_destruction(_settings(), name)

    async def work() -> Sequence[DeploymentStep]:
        try:
            plan = await destruction.plan(with_data=with_data)
            _show(plan.steps, as_json=as_json)
            if yes:
                await destruction.apply(plan, _tell)
            return plan.steps
        finally:
            await close()

    steps = run(work())
    due = in_state(steps, StepStatus.DELETE)
    data = {"name": name, "steps": [step.as_json() for step in steps], "changed": yes and bool(due)}
    CommandAnswer(data, _end_of_destruction(name, due=bool(due), yes=yes)).print(as_json=as_json)
    sys.exit(_ASKED if not (dry_run or yes) else 1 if in_state(steps, StepStatus.BLOCKED) else 0)


def _settings() -> Settings:
    settings = load_settings(before_env_file=True)
    configure_logging(settings.log_format, "warning" if settings.log_level == "info" else settings.log_level)
    return settings


def _held(path: Path) -> dict[str, str]:
    """Return the settings that a file holds; none where there is no such file.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        values = dotenv_values(path, interpolate=False) if path.is_file() else {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--write-env: {path} cannot be read ({type(error).__name__}).") from error
    return {name: value for name, value in values.items() if value}


def _tell(line: str) -> None:
    click.echo(f"... {line}", err=True)


def _show(steps: Sequence[DeploymentStep], *, as_json: bool) -> None:
    """Print the plan before anything is done: on standard error, where the answer is to be read by a program."""
    click.echo("\n".join(map(str, steps)) or "Nothing of it is there.", err=as_json)


def _status(steps: Sequence[DeploymentStep], *, asked: bool) -> int:
    if asked:
        return _ASKED
    if in_state(steps, StepStatus.BLOCKED):
        return 1
    return _INCOMPLETE if in_state(steps, StepStatus.LEFT) else 0


def _answer(settings: Settings, plan: DeploymentPlan, outcome: DeploymentOutcome | None, path: Path) -> CommandAnswer:
    steps, left = plan.steps, in_state(plan.steps, StepStatus.LEFT)
    data: dict[str, Any] = {
        "name": plan.wanted.name,
        "steps": [step.as_json() for step in steps],
        "changed": outcome is not None and bool(in_state(steps, StepStatus.CREATE, StepStatus.REPAIR)),
        "complete": outcome is not None and not left,
        "settings_file": str(path),
    }
    notes = [_WORKERS_AI] if plan.wanted.config.provider == "workers-ai" else []
    if outcome is None:
        if in_state(steps, StepStatus.BLOCKED):
            said = "Nothing was changed, and --yes would change nothing, because of what cannot be repaired."
        else:
            said = "Nothing was changed. Run again with --yes to do this, or with --dry-run to look only."
        return CommandAnswer(data, f"\n{said}", [_RIGHTS, *notes])
    own = [step.name for step in left if step.part == SETTING]
    commands = _commands(settings, outcome, plan.wanted.name, path, own)
    data |= {"database_id": outcome.database_id, "index": outcome.index, "by_edge": outcome.by_edge}
    whole = "\n".join(f"{title}:\n  {line}" for title, line in commands.items())
    remaining = "".join(f"\nLeft to you: {step}" for step in left)
    text = f"\n{'Ready' if not left else 'Ready but for what is left to you'}. {path} has the settings and secrets of "
    return CommandAnswer(data | {"commands": commands}, f"{text}the service.{remaining}\n\n{whole}", notes)


def _commands(
    settings: Settings, outcome: DeploymentOutcome, name: str, path: Path, own: Sequence[str]
) -> dict[str, str]:
    """Return the lines that start the service, by what they are for. None of them holds a secret.

    ``own`` are the settings that the file cannot hold.
    """
    file = shlex.quote(str(path))
    passed = [*own, *(key.upper() for key in _PASSED if getattr(settings, key))]
    passed += [] if outcome.by_edge else ["CLOUDFLARE_API_TOKEN"]
    envs = "".join(f" --env {key}" for key in passed)
    configured = f"wrangler.{name}.jsonc"
    absolute = shlex.quote(str(path.resolve()))
    return {
        "Check it": f"ENV_FILE={file} memory-gateway doctor",
        "Start it with docker": (
            f"docker build . --tag memory-gateway && docker run --detach --restart unless-stopped --name {name} "
            f"--env-file {file}{envs} --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges "
            "--publish 127.0.0.1:8000:8000 memory-gateway"
        ),
        "Or with docker compose": (
            f"docker compose --env-file {file} --profile cloudflare up --build --detach gateway-cloudflare"
        ),
        "Or in a Cloudflare Container (deploy/edge/README.md)": (
            f"cd deploy/edge && sed -e 's/<database id>/{outcome.database_id}/g' "
            f"-e 's/<index name>/{outcome.index}/g' wrangler.container.jsonc > {configured} && npm install && "
            f"npx wrangler deploy --config {configured} && "
            f"sed -n 's/^AUTH_SECRETS=//p' {absolute} | npx wrangler secret put AUTH_SECRETS --config {configured}"
        ),
        "Or without docker": f"ENV_FILE={file} memory-gateway serve",
        "Mint a credential": f"ENV_FILE={file} memory-gateway token --tenant default",
    }


def _end_of_destruction(name: str, *, due: bool, yes: bool) -> str:
    if not due:
        return f"There is nothing of {name} to delete."
    if yes:
        return f"{name} is deleted. Its file of settings stays where it is: delete it too."
    return "\nNothing was changed. Run again with --yes to do this, or with --dry-run to look only."
