"""The command line: ``memory-gateway``."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

from app.domain.errors import MemoryGatewayError
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.text import visible

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Start": {"serve": "serving.serve", "mcp": "mcp.mcp", "doctor": "operations.doctor"},
    "Memories": {
        "store": "memories.store",
        "recall": "memories.recall",
        "list": "browsing.list_memories",
        "get": "browsing.get",
        "delete": "browsing.delete",
        "agents": "usage.agents",
        "usage": "usage.usage",
    },
    "Credentials": {"token": "credentials.token"},
    "Operate": {
        "migrate": "migrating.migrate",
        "quota": "quota.quota",
        "prune": "prune.prune",
        "outbox": "outbox.outbox",
        "reconcile": "reconcile.reconcile",
        "rebuild": "reconcile.rebuild",
        "reembed": "reembed.reembed",
    },
    "Move data": {"export": "transfer.export", "import": "transfer.import_", "verify": "transfer.verify"},
    "Cloudflare": {"provision": "operations.provision"},
}
"""The sections of the help, each with its commands and the module of each.

A module is imported when its command is called: a server needs far more than ``token``.
"""
_COMMANDS = {name: where for commands in _SECTIONS.values() for name, where in commands.items()}

_INSTALLED_COMMANDS = "memory_gateway.commands"
"""The group of entry points under which another distribution adds a command."""
_APART = {"double": "pip install ./double"}
"""Commands of this project's other distributions, and how each is installed. The help shows them under Cloudflare."""


def main() -> None:
    """Run a command; print an expected error as one line, without a traceback."""
    try:
        cli()
    except MemoryGatewayError as error:
        click.echo(f"Error: {visible(error.detail)}", err=True)
        sys.exit(1)


class _Commands(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in self.sections(ctx).values() for name in names]

    def sections(self, ctx: click.Context) -> dict[str, list[str]]:  # noqa: ARG002 - as the base class asks
        sections = {title: list(commands) for title, commands in _SECTIONS.items()}
        added = sorted(_installed_commands().keys() - _COMMANDS.keys())
        sections["Cloudflare"] += [name for name in added if name in _APART]
        return sections | {"Added by other packages": [name for name in added if name not in _APART]}

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
    """Keep long-term memories for AI agents.

    Settings come from the environment, from the file that ENV_FILE names and from .env. README.md lists them.
    """
