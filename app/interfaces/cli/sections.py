"""Groups of commands: their help has sections of whole sentences, and a mistyped command gets the nearest names."""

import inspect
import re
from collections.abc import Mapping, Sequence

import click

_FIRST_SENTENCE = re.compile(r"\A.*?\.(?=\s|$)", re.DOTALL)


class CommandGroup(click.Group):
    """A group whose help shows the first sentence of each command, uncut, in the order in which they were made."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click asks
        """Return the names of the commands."""
        return list(self.commands)

    def sections(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the titles of the help's sections, each with the names of its commands."""
        return {"Commands": self.list_commands(ctx)}

    def sentence(self, ctx: click.Context, name: str) -> str | None:
        """Return the help's sentence of a command; None where there is no command of this name."""
        command = self.get_command(ctx, name)
        return None if command is None else _first_sentence(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each of ``sections`` that has commands."""
        widest = max(map(len, self.list_commands(ctx)), default=0)
        for title, names in self.sections(ctx).items():
            sentences = {name: self.sentence(ctx, name) for name in names}
            if rows := [(f"{name:<{widest}}", told) for name, told in sentences.items() if told is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the line names.

        Raises:
            click.UsageError: there is no command of this name; the error names those with a similar spelling.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # click looks only among the commands that are imported already
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from error


def _first_sentence(command: click.Command) -> str:
    """Return the first sentence of a command's help on one line."""
    text = " ".join(inspect.cleandoc(command.short_help or command.help or "").split())
    found = _FIRST_SENTENCE.match(text)
    return text if found is None else found[0]
