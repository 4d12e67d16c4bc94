"""The command line: ``memory-gateway``."""

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

import click

from app.domain.errors import MemoryGatewayError
from app.interfaces.cli.sections import CommandGroup
from app.interfaces.text import visible

_SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "serve": ("serving.serve", "Bring the data up to date and serve the API and MCP over HTTP."),
        "mcp": ("mcp.mcp", "Serve the memory tools over MCP on standard input and output."),
        "convert": ("converting.convert", "Install the model of EMBEDDER=local-multilingual."),
        "doctor": ("operations.doctor", "Check every part and say what to do about what fails."),
        "hook": ("hook.hook", "Recall before a prompt, and keep what was said."),
    },
    "Memories": {
        "store": ("memories.store", "Store CONTENT as a memory."),
        "recall": ("memories.recall", "Print the memories that answer QUERY best."),
        "list": ("browsing.list_memories", "List an agent's memories, newest first."),
        "get": ("browsing.get", "Print the memory ID with everything that was stored of it."),
        "change": ("changing.change", "Change the metadata, the end or the moment of the memory ID."),
        "delete": ("browsing.delete", "Delete the memory ID for good."),
        "purge": ("changing.purge", "Count the memories that pass a filter, or delete them."),
        "agents": ("usage.agents", "List a tenant's agents and how much each of them holds."),
        "usage": ("usage.usage", "Show what a tenant and its agents use of their limits."),
    },
    "Credentials": {
        "token": ("credentials.token", "Mint, list and revoke credentials."),
    },
    "Operate": {
        "migrate": ("migrating.migrate", "Bring the database's schema up to date."),
        "acts": ("acts.acts", "Show, export and check administrative acts."),
        "quota": ("quota.quota", "Show and set what a tenant or an agent may hold and store."),
        "prune": ("prune.prune", "Delete what has expired or is too old, of all tenants."),
        "consolidate": (
            "consolidate.consolidate",
            "Merge memories and facts that restate each other, agent by agent.",
        ),
        "vacuum": ("vacuum.vacuum", "Give the room that deletions have left back to the disk."),
        "outbox": ("outbox.outbox", "Look at vectors that wait for the index; retry or drop them."),
        "reconcile": ("reconcile.reconcile", "Compare the indexes and the object store with the database."),
        "rebuild": ("reconcile.rebuild", "Make a lost index again from the database alone."),
        "reembed": ("reembed.reembed", "Move the data to another embedding model, step by step."),
        "shard": ("shard.shard", "Spread tenants over several databases: add, list, move."),
        "golden": ("golden.golden", "Ask questions whose memories you know, before and after a change."),
        "eval": ("evaluate.evaluate", "Measure what recalls find of a published set of conversations."),
        "canary": ("canary.canary", "Plant canaries in every tenant, and ask for them as all others."),
    },
    "Move data": {
        "export": ("transfer.export", "Write a tenant's memories to a file, line by line."),
        "import": ("transfer.import_", "Store the memories of a file, an export's or another system's."),
        "backup": ("backup.backup", "Copy the data of the embedded default into the new FOLDER."),
        "archive": ("archive.archive", "List, read and restore what was archived because it is old."),
        "snapshot": ("snapshot.snapshot", "List, make, verify and restore snapshots of a tenant."),
        "verify": ("transfer.verify", "Check that an exported file is whole and unchanged."),
    },
    "Cloudflare": {
        "deploy": ("deploy.deploy", "Make all that a service needs in an account, or take it back."),
        "provision": ("operations.provision", "Create what the service needs in a Cloudflare account."),
    },
}
"""The sections of the help, each with its commands: the module of each, and the first sentence of its own help.

A module is imported when its command is called: a server needs far more than ``token``, and the help needs none.
"""
_COMMANDS = {name: command for commands in _SECTIONS.values() for name, command in commands.items()}

_INSTALLED_COMMANDS = "memory_gateway.commands"
"""The group of entry points under which another distribution adds a command."""
_APART = {
    "double": (
        "pip install ./double, or after `make run` .venv/bin/uv pip install --python .venv/bin/python ./double",
        "Serve a stand-in for a Cloudflare account and OpenAI.",
    )
}
"""Commands of this project's other distributions: how each is installed, and its sentence in the help.

The help shows those that are installed under Cloudflare.
"""


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

    def sentence(self, ctx: click.Context, name: str) -> str | None:
        listed = _COMMANDS.get(name) or _APART.get(name)
        return super().sentence(ctx, name) if listed is None else listed[1]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return _load_installed(cmd_name)
        module, _, name = _COMMANDS[cmd_name][0].partition(".")
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
        raise click.ClickException(f"{name} is not installed: {_APART[name][0]}")
    return None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="memory-gateway")
def cli() -> None:
    """Keep long-term memories for AI agents.

    Settings come from the environment, from the file that ENV_FILE names and from .env. docs/settings.md lists them.
    """
