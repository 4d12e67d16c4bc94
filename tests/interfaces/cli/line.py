"""A command line for tests: it runs commands in this process, on a data directory of the test."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from app.interfaces.cli import cli, main

_PLACE = re.compile(r"^Memories are kept in (.*)\.\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str
    place: str = ""
    """Where it said that the memories are."""


class Line:
    """Runs commands on one data directory, in this process: their own processes are those of tests/process."""

    def __init__(self, data_dir: Path, program: Callable[[], None] = main) -> None:
        self._program = program
        self.environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir)}
        self.environment |= {"EMBEDDER": "hashing", "READER": "none"}
        self.environment |= {"WORKERS": "1"}  # a worker would be a fork of the process of the tests
        self.folder = data_dir.parent

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        return self._run(arguments, stdin, environment, terminal=False)

    def on_terminal(self, *arguments: str, stdin: str = "", **environment: str) -> Done:
        """Run a command whose standard error seems to be a terminal."""
        return self._run(arguments, stdin, environment, terminal=True)

    def _run(self, arguments: Sequence[str], stdin: str, environment: Mapping[str, str], *, terminal: bool) -> Done:
        runner = CliRunner(env={**self.environment, **environment})
        with (
            runner.isolation(stdin) as (stdout, stderr, _),
            patch.object(sys.stderr, "isatty", lambda: terminal),
            chdir(self.folder),
            patch.object(sys, "argv", ["memory-gateway", *arguments]),
            pytest.raises(SystemExit) as ended,
        ):
            self._program()
        code = ended.value.code
        assert isinstance(code, int)
        told = stderr.getvalue().decode()
        place = _PLACE.search(told)
        return Done(code, stdout.getvalue().decode(), _PLACE.sub("", told), "" if place is None else place[1])

    def ok(self, *arguments: str, **more: Any) -> str:
        done = self.run(*arguments, **more)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def json(self, *arguments: str, **more: Any) -> Any:
        return json.loads(self.ok(*arguments, "--json", **more))

    def fails(self, *arguments: str, code: int = 1, **more: Any) -> str:
        done = self.run(*arguments, **more)
        assert done.returncode == code, done
        assert "Traceback" not in done.stderr
        return done.stderr


def misused(*arguments: str) -> str:
    """Give a line to the command, in this process, that it refuses before it looks at anything; return what it says."""
    done = CliRunner().invoke(cli, arguments, prog_name="memory-gateway")
    assert done.exit_code == 2, done.output
    return done.output
