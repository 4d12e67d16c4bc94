"""What the files under deploy/ tell ``memory-gateway`` to do, checked against the commands there are."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import click

from app.interfaces.cli import cli
from app.settings import Settings

SETTINGS = {name.upper() for name in Settings.model_fields} | {"ENV_FILE"}
"""Every variable that means something to the service."""

_FENCED = re.compile(r"^ *```(?:sh|console)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_BETWEEN_COMMANDS = re.compile(r"\$\(|\)|\||&|;|>|(?:^|\s)#")


_IS_MISSING = re.compile(r"(?:File|Path|Directory) '[^']+' does not exist")
"""The answer to a file of the reader's own, which a document can only name."""


def refusal(words: Sequence[str]) -> str | None:
    """Return why the command line refuses a command with these options; None if it would run it."""
    name, *arguments = words
    command = cli.get_command(click.Context(cli), name)
    if command is None:
        return f"there is no command {name}"
    try:
        command.make_context(name, arguments)
    except click.UsageError as error:
        return None if _IS_MISSING.search(error.format_message()) else error.format_message()
    return None


def shell_lines(markdown: str) -> list[str]:
    """Return the lines of a document's shell blocks, continued ones joined."""
    return [
        line.strip()
        for block in _FENCED.findall(markdown)
        for line in block.replace("\\\n", " ").splitlines()
        if line.strip()
    ]


def invocations(lines: Sequence[str]) -> Iterator[list[str]]:
    """Return the words after each ``memory-gateway`` in shell lines."""
    for line in lines:
        for command in _BETWEEN_COMMANDS.split(line):
            if "memory-gateway" not in command:
                continue
            words = shlex.split(command)
            if words[0] in {"kubectl", "npx"}:  # names ours as a thing; what a container runs stands behind the dashes
                words = words[words.index("--") + 1 :] if "--" in words else []
            at = next((n for n, word in enumerate(words) if PurePosixPath(word).name == "memory-gateway"), len(words))
            if words[at + 1 :]:
                yield words[at + 1 :]
