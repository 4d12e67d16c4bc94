"""The command line: ``memory-gateway``."""

import sys
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

from app.domain.errors import MemoryGatewayError

_COMMANDS = {
    "serve": "serving.serve",
    "mcp": "mcp.mcp",
    "migrate": "migrating.migrate",
    "token": "credentials.token",
    "store": "memories.store",
    "recall": "memories.recall",
    "provision": "operations.provision",
    "doctor": "operations.doctor",
    "export": "transfer.export",
    "import": "transfer.import_",
    "verify": "transfer.verify",
    "outbox": "outbox.outbox",
    "reconcile": "reconcile.reconcile",
    "rebuild": "reconcile.rebuild",
    "reembed": "reembed.reembed",
    "quota": "quota.quota",
    "prune": "prune.prune",
}
"""The module of each command. It is imported when the command is called: a server needs far more than ``token``."""

_INSTALLED_COMMANDS = "memory_gateway.commands"
"""The group of entry points under which another distribution adds a command."""
_APART = {"double": "pip install ./double"}
"""Commands of this project's other distributions, and how each is installed."""


def main() -> None:
    """Run a command; print an expected error as one line, without a traceback."""
    try:
        cli()
    except MemoryGatewayError as error:
        click.echo(f"Error: {error.detail}", err=True)
        sys.exit(1)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click asks
        return [*_COMMANDS, *sorted(_installed_commands().keys() - _COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return _load_installed(cmd_name)
        module, _, name = _COMMANDS[cmd_name].partition(".")
        command: click.Command = getattr(import_module(f"app.interfaces.cli.{module}"), name)
        return command


def _installed_commands() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=_INSTALLED_COMMANDS)}


def _load_installed(name: str) -> click.Command | None:
    point = _installed_commands().get(name)
    if point is not None:
        command: click.Command = point.load()
        return command
    if name in _APART:
        raise click.ClickException(f"{name} is not installed: {_APART[name]}")
    return None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="memory-gateway")
def cli() -> None:
    """Long-term memory for AI agents. Settings come from the environment or a .env file."""
