"""The command of the hooks; ``app/interfaces/command.py`` runs them without the other commands."""

import click

from app.interfaces.hook import run_hook


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def hook(arguments: tuple[str, ...]) -> None:
    """Recall before a prompt, and keep what was said.

    Any harness runs it at the events of a session. What it takes is in the answer to: memory-gateway hook help.
    """
    run_hook(arguments)
