"""The hooks' command line: an event of Claude Code on standard input, or a command of the user or of any harness."""

from __future__ import annotations

import _thread
import json
import os
import sys
import time

from memory_gateway_hook import events
from memory_gateway_hook.clock import elapsed
from memory_gateway_hook.failures import Failed
from memory_gateway_hook.pinned import Pinned, pinned_file, profile_of, read_pinned, write_pinned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EVENTS = {
    "session-start": "SessionStart",
    "pre-turn": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "session-end": "SessionEnd",
}
"""The commands for any harness, each with the event of Claude Code that it is."""
USAGE = """usage: memory-gateway hook COMMAND [OPTIONS]      (or python3 -I -S memory_hook.py COMMAND [OPTIONS])

  session-start   print what is known, for the start of a session
  pre-turn        print what concerns a prompt and was not printed in this session yet
  pre-compact     keep what was said, before the harness shortens the conversation
  session-end     the same, at the end of a session
  preview         print what pre-turn would print now (without a prompt: session-start); nothing counts as printed
  status          print the service, the profile, and what waits to be delivered
  deliver         deliver what waits
  profile         print the profile of this directory
  setup URL [AGENT]
                  write the file that says where the service is; the credential is read from standard input

  --format json|text|claude-code   how to print; json if not said
  --prompt TEXT, --session ID      in place of the JSON on standard input
  --agent ID                       the profile, in place of the directory's
  --settings PATH                  another file than ~/.config/memory-gateway/claude-code.json

The four events read JSON from standard input: session_id, cwd, prompt, transcript_path or messages."""

_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
"""Variables by which whoever sets the environment would read what is sent."""
_OPTIONS = ("--format", "--prompt", "--session", "--agent", "--settings")
_FORMATS = ("json", "text", "claude-code")
_MAX_EVENT_BYTES = 64 * 1024 * 1024
_COMMAND_SECONDS = 10.0
_MARGIN_SECONDS = 0.06
"""Of an event's time, what is kept for the end of the process; of a prompt's 300 ms it is a fifth."""
_LOOK_SECONDS = 0.01
_WITH_CONTEXT = ("SessionStart", "UserPromptSubmit")
_KEEPING = ("PreCompact", "SessionEnd")


class Call:
    """What is to be done, as the command line says.

    Attributes:
        command: The command; "": an event of Claude Code.
        arguments: What follows it.
        options: The options by their names.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """Read the arguments.

        Raises:
            Failed: they are none of this command line.
        """
        self.options: dict[str, str] = {}
        words = []
        left = list(arguments)
        while left:
            word = left.pop(0)
            name, given, value = word.partition("=")
            if name in _OPTIONS and (given or left):
                self.options[name] = value if given else left.pop(0)
            elif word.startswith("-"):
                raise Failed(USAGE)
            else:
                words.append(word)
        self.command, self.arguments = (words[0], words[1:]) if words else ("", [])
        if self.options.get("--format", "json") not in _FORMATS:
            raise Failed(USAGE)

    @property
    def settings(self) -> str:
        """The user's file."""
        return self.options.get("--settings") or pinned_file()

    @property
    def is_event(self) -> bool:
        """Whether it is an event of a session."""
        return self.command in ("", *EVENTS)

    @property
    def format(self) -> str:
        """How to print."""
        return self.options.get("--format", "json" if self.command else "claude-code")


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the arguments ask for, and end the process."""
    for name in _TRUST:
        os.environ.pop(name, None)
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in ("-h", "--help", "help"):
        _end(f"{USAGE}\n")
    try:
        call = Call(arguments)
        if not call.is_event:
            _end(_commanded(call))
    except Failed as failure:
        _tell(f"memory_hook: {failure}")
        _end("", 2 if str(failure) == USAGE else 1)
    _event(call)


def _event(call: Call) -> None:
    """Do what an event asks for. Nothing that fails stops a harness, and nothing takes longer than the event may."""
    started = time.monotonic() - elapsed()
    doing = _Doing(call, started)
    _thread.start_new_thread(doing.run, ())
    while not doing.ended.acquire(timeout=_LOOK_SECONDS):  # what the event is, and so its time, is known a little later
        if time.monotonic() - started > doing.seconds - _MARGIN_SECONDS / 2:
            _tell(f"memory_hook: {doing.name}: there was no more time")
            _end(_printed(events.Said(), doing.name, call.format), doing.code)
    for line in doing.failures:
        _tell(f"memory_hook: {doing.name}: {line}")
    _print(_printed(doing.said, doing.name, call.format))
    try:
        doing.said.printed()
    except Exception as error:  # noqa: BLE001 - all was printed; what is left is done at the next event
        _tell(f"memory_hook: {doing.name}: {error}")
    _end("", doing.code)


class _Doing:
    """Does an event in a thread of its own, so that the process can end though a call of the system does not.

    Attributes:
        name: The event, once it is known.
        said: What it has to say.
        failures: What went wrong, in lines.
    """

    def __init__(self, call: Call, started: float) -> None:
        self._call, self._started = call, started
        self.name = EVENTS.get(call.command, "no event")
        self.seconds = events.SECONDS.get(self.name, max(events.SECONDS.values()))
        self.said = events.Said()
        self.failures: list[str] = []
        self._hook: events.Hook | None = None
        self.ended = _thread.allocate_lock()
        self.ended.acquire()

    @property
    def code(self) -> int:
        """The exit code: 1 tells a harness that what was said is not kept, by an error or until the time was over."""
        kept = self._hook is not None and self._hook.kept
        return 1 if self._call.command and self.name in _KEEPING and not kept else 0

    def run(self) -> None:
        try:
            self._do()
        except Exception as error:  # noqa: BLE001 - whatever it is, the harness is to go on
            line = " ".join((str(error) or type(error).__name__).split())
            self.failures.append(line)
            if self.name in ("SessionStart", *_KEEPING):
                self.said.notice = f"Memory Gateway: {line}"
        finally:
            self.ended.release()

    def _do(self) -> None:
        event = _read(self._call)
        if not self._call.command:
            self.name = str(event.get("hook_event_name"))
        if self.name not in events.SECONDS:
            raise Failed("there is nothing to do at this event")
        self.seconds = events.SECONDS[self.name]
        self._hook = hook = _hook(self._call, event)
        if self.name == "UserPromptSubmit":
            self.seconds = hook.prompt_seconds
        until = self._started + self.seconds - _MARGIN_SECONDS
        do = {"SessionStart": hook.session_start, "UserPromptSubmit": hook.pre_turn}.get(self.name, hook.hand_over)
        self.said = do(until)
        self.failures += self.said.failures


def _read(call: Call) -> dict[str, Any]:
    """Return the event: the JSON on standard input, and what the options say in its place."""
    event: dict[str, Any] = {}
    if "--prompt" not in call.options:
        content = sys.stdin.buffer.read(_MAX_EVENT_BYTES + 1)
        if len(content) > _MAX_EVENT_BYTES:
            raise Failed("standard input is too long")
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Failed("standard input is no event: it is no JSON") from error
        if not isinstance(found, dict):
            raise Failed("standard input is no event of Claude Code, or of a harness like it")
        event = found
    named = {"prompt": call.options.get("--prompt"), "session_id": call.options.get("--session")}
    return {**event, **{name: value for name, value in named.items() if value is not None}}


def _hook(call: Call, event: Mapping[str, Any]) -> events.Hook:
    named = None if call.command in EVENTS else os.environ.get("CLAUDE_PROJECT_DIR")  # a harness says its cwd
    project = named or str(event.get("cwd") or ".")
    return events.Hook(call.settings, event, agent=call.options.get("--agent"), project=project)


def _commanded(call: Call) -> str:
    """Do what the user asks for, and return what to print.

    Raises:
        Failed: it could not be done.
    """
    if call.command == "setup":
        return _setup(call)
    if call.arguments:
        raise Failed(USAGE)
    if call.command == "profile":
        pinned = read_pinned(call.settings).agent if os.path.exists(call.settings) else None
        return profile_of(os.environ.get("CLAUDE_PROJECT_DIR") or ".", call.options.get("--agent") or pinned) + "\n"
    if call.command not in ("preview", "status", "deliver"):
        raise Failed(USAGE)
    if call.command == "status":
        return _status(call)
    seconds = events.ALONE_SECONDS if call.command == "deliver" else _COMMAND_SECONDS
    event = {"prompt": call.options.get("--prompt"), "session_id": call.options.get("--session")}
    hook = _hook(call, event)
    do = hook.alone if call.command == "deliver" else hook.preview
    said = do(time.monotonic() + seconds)
    return _printed(said, call.command, call.options.get("--format", "text"))


def _status(call: Call) -> str:
    """Return what the hooks say of themselves; that they are not set up is no failure of this command."""
    try:
        return _hook(call, {}).status(time.monotonic() + _COMMAND_SECONDS).text + "\n"
    except Failed as failure:
        return f"the hooks do nothing: {failure}\n"


def _setup(call: Call) -> str:
    """Write the user's file: the address and the profile are arguments, the credential is on standard input."""
    if not 1 <= len(call.arguments) <= 2:  # noqa: PLR2004 - the address, and the profile
        raise Failed("usage: memory-gateway token | memory_hook.py setup URL [AGENT]")
    try:
        write_pinned(call.settings, Pinned(call.arguments[0], sys.stdin.read().strip(), *call.arguments[1:]))
    except OSError as error:
        raise Failed(f"{call.settings} cannot be written: {error.strerror}") from error
    return f"{call.settings} has the address and the credential, for you alone.\n"


def _printed(said: events.Said, name: str, form: str) -> str:
    """Return what is printed of what an event has to say; "" where there is nothing."""
    if form == "text":
        return f"{said.text}\n" if said.text else ""
    if form == "json":
        memories = [
            {field: entry.get(field) for field in ("id", "content", "score", "occurred_at", "created_at")}
            for entry in said.entries
        ]
        answer = {"context": said.text, "memories": memories, "notice": said.notice or None}
        return json.dumps(answer) + "\n"
    printed: dict[str, Any] = {}
    if said.text and name in _WITH_CONTEXT:
        printed["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": said.text}
    if said.notice:
        printed["systemMessage"] = said.notice
    return json.dumps(printed) + "\n" if printed else ""


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode(errors="replace"))
    sys.stdout.buffer.flush()


def _tell(line: str) -> None:
    """Tell what went wrong where hooks tell it."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody listens


def _end(printed: str = "", code: int = 0) -> None:
    """Print, and end the process at once: Python's own end takes longer than the printing."""
    try:
        _print(printed)
    except OSError:
        code = code or 1
    os._exit(code)
