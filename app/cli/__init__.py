"""The command line: ``memory-gateway``."""

import sys

import click

from app.cli import memories, operations, serving, transfer
from app.cli.mcp import mcp
from app.cli.outbox import outbox
from app.cli.prune import prune
from app.cli.quota import quota
from app.cli.reconcile import rebuild, reconcile
from app.cli.reembed import reembed
from app.errors import MemoryGatewayError


def main() -> None:
    """Run a command; a mistake or an outage is told in one line, without a traceback."""
    try:
        cli()
    except MemoryGatewayError as error:
        click.echo(f"Error: {error.detail}", err=True)
        sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="memory-gateway")
def cli() -> None:
    """Long-term memory for AI agents. Settings come from the environment or a .env file."""


for command in (
    serving.serve,
    serving.double,
    serving.migrate,
    mcp,
    memories.token,
    memories.store,
    memories.recall,
    operations.provision,
    operations.doctor,
    transfer.export,
    transfer.import_,
    transfer.verify,
    outbox,
    reconcile,
    rebuild,
    reembed,
    quota,
    prune,
):
    cli.add_command(command)
