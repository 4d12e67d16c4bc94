"""The memory of an agent as Anthropic's memory tool, for the SDK's tool runner."""

import asyncio
from collections.abc import Mapping
from typing import Any, NoReturn

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaFunctionToolResultType,
    ToolError,
)
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memory_gateway_client import MemoryClient, MemoryGatewayError, tools
from memory_gateway_client.adapters.anthropic import views
from memory_gateway_client.adapters.anthropic.files import File, Files
from memory_gateway_client.adapters.anthropic.paths import NotAPath, Place, place

_FIELDS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""What the model has to write for each command; the SDK does not check it."""


class MemoryTool(BetaAbstractMemoryTool):
    """Claude's memory directory over the memory of the client's agent.

    An edit stores a new version of the file and keeps the older ones; a deletion forgets them, which can be taken back.
    It needs a credential for this agent alone, or an administrator's. What goes wrong is told to the model, as the
    tool's documentation words it or as the service does, with ``is_error``.
    """

    def __init__(self, client: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        """Take the client whose agent's memory this is.

        Raises:
            ValueError: the client has no agent.
        """
        super().__init__(cache_control=cache_control)
        self._files = Files(client)

    def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002 - its name in the SDK
        """Carry out what the model has written.

        Raises:
            ToolError: it could not be done; the content is for the model.
        """
        _check(input)
        return super().call(input)

    def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carry out a command; raises as ``call`` does."""
        try:
            return super().execute(command)
        except NotAPath as error:
            raise ToolError(str(error)) from error
        except MemoryGatewayError as error:
            raise ToolError(tools.told(error)) from error

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a directory."""
        at = place(command.path)
        file = self._file(at)
        if file is not None:
            first, last = command.view_range or (1, -1)
            return views.content(file, max(1, first), None if last == -1 else max(0, last))
        files = self._files.within(at)
        if at.names and not files:
            _fail(f"The path {at} does not exist. Please provide a valid path.")
        return views.listing(at, files)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file; one that is there is not overwritten."""
        at = place(command.path)
        if self._exists(at):
            _fail(f"Error: File {at} already exists")
        self._check_above(at)
        self._files.write(at, command.file_text)
        return f"File created successfully at: {at}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that is in the file once; without a new one it is taken out."""
        at, old = place(command.path), command.old_str
        file = self._file(at)
        if file is None:
            _fail(f"Error: The path {at} does not exist. Please provide a valid path.")
        count = file.text.count(old) if old else 0
        if count == 0:
            _fail(f"No replacement was performed, old_str `{old}` did not appear verbatim in {at}.")
        if count > 1:
            lines = ", ".join(map(str, _lines_with(file.text, old)))
            _fail(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        text = file.text.replace(old, getattr(command, "new_str", None) or "")
        self._files.write(at, text)
        return views.edited(text, file.text.index(old))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text behind a line; 0 is before the first."""
        at = place(command.path)
        file = self._file(at)
        if file is None:
            _fail(f"Error: The path {at} does not exist")
        lines = file.text.removesuffix("\n").split("\n") if file.text else []
        if not 0 <= command.insert_line <= len(lines):
            _fail(
                f"Error: Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._files.write(at, "\n".join(lines).removesuffix("\n") + "\n")
        return f"The file {at} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Forget a file, or a directory with all that is in it."""
        at = place(command.path)
        if not at.names:
            _fail("Cannot delete the /memories directory itself")
        self._files.forget(self._all(at))
        return f"Successfully deleted {at}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a directory with all that is in it; nothing is overwritten."""
        old, new = place(command.old_path), place(command.new_path)
        if not old.names:
            _fail("Cannot rename the /memories directory itself")
        if self._exists(new):
            _fail(f"Error: The destination {new} already exists")
        files = self._all(old)
        if new.is_within(old):
            _fail(f"Error: The destination {new} is inside {old}")
        self._check_above(new)
        moved = [(file, file.place.moved(old, new)) for file in files]
        for file, there in moved:
            self._files.write(there, file.text)
        self._files.forget(files)
        return f"Successfully renamed {old} to {new}"

    def _file(self, at: Place) -> File | None:
        return self._files.file(at) if at.names else None

    def _exists(self, at: Place) -> bool:
        return self._file(at) is not None or self._files.is_directory(at)

    def _all(self, at: Place) -> list[File]:
        """Return the file, or all files in the directory.

        Raises:
            ToolError: there is neither.
        """
        file = self._file(at)
        files = self._files.within(at) if file is None else [file]
        if not files:
            _fail(f"Error: The path {at} does not exist")
        return files

    def _check_above(self, at: Place) -> None:
        """Check that no file stands where a directory would have to be.

        Raises:
            ToolError: one does.
        """
        for above in at.above:
            if self._file(above) is not None:
                _fail(f"Error: {above} is a file, not a directory")


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the SDK's asynchronous tool runner; it waits in a thread."""

    def __init__(self, client: MemoryClient, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        """Take the client whose agent's memory this is; raises as ``MemoryTool`` does."""
        super().__init__(cache_control=cache_control)
        self._tool = MemoryTool(client)

    async def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002 - its name in the SDK
        """Carry out what the model has written; raises as ``MemoryTool`` does."""
        return await asyncio.to_thread(self._tool.call, input)

    async def execute(self, command: BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Carry out a command; raises as ``MemoryTool`` does."""
        return await asyncio.to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute


def _check(written: object) -> None:
    """Check what the model has written for a command.

    Raises:
        ToolError: the command is none, or a field is missing or of another type.
    """
    said: Mapping[str, Any] = written if isinstance(written, dict) else {}
    command = said.get("command")
    if not isinstance(command, str) or command not in _FIELDS:
        _fail(f"Error: Unknown command: {command!r:.80}. There are {', '.join(_FIELDS)}.")
    types = {**_FIELDS[command], **({"new_str": str} if said.get("new_str") is not None else {})}
    for name, type_ in types.items():
        if type(said.get(name)) is not type_:
            _fail(f"Error: The parameter `{name}` of {command} must be {'a number' if type_ is int else 'a text'}.")
    range_ = said.get("view_range")
    if range_ is not None and not (isinstance(range_, list) and [type(each) for each in range_] == [int, int]):
        _fail("Error: The parameter `view_range` of view must be two numbers: the first line and the last.")


def _lines_with(text: str, part: str) -> list[int]:
    """Return the lines in which a part begins, each once."""
    lines: dict[int, None] = {}
    line, counted, at = 1, 0, text.find(part)
    while at >= 0:
        line, counted = line + text.count("\n", counted, at), at
        lines[line] = None
        at = text.find(part, at + 1)
    return list(lines)


def _fail(told: str) -> NoReturn:
    raise ToolError(told)
