"""The MCP inspector's command line: a client of a server over HTTP or of a command, without a browser."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tests.conformance.toolchain import INSPECTOR, NODE

Era: TypeAlias = Literal["legacy", "modern"]
"""``legacy`` shakes hands first (2025-11-25), in ``modern`` every request stands for itself (2026-07-28)."""

_SECONDS = 60
_WITH_RESULT = {0, 5, 6}
"""Exit codes that come with a result: it went well, the tool failed, a tool's schema is not portable."""


class InspectorError(Exception):
    """What the inspector says in place of a result.

    ``code`` is its own: ``auth_required``, ``unreachable``, ``tool_not_found``, and ``error`` for everything else, such
    as an error of the protocol, structured content that the output schema does not take, or a command that ended.
    """

    def __init__(self, code: str, message: str) -> None:
        """Keep what was said."""
        super().__init__(f"{code}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Inspector:
    """Asks one server. Every question is a process with a connection of its own; ``home`` is where it keeps files."""

    home: Path
    target: tuple[str, ...]
    era: Era

    @classmethod
    def over_http(cls, home: Path, url: str, headers: Mapping[str, str], era: Era = "legacy") -> "Inspector":
        """Ask the server behind a URL."""
        told = [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
        return cls(home, ("--transport", "http", "--server-url", url, *told), era)

    @classmethod
    def over_stdio(
        cls, home: Path, command: Sequence[str], environment: Mapping[str, str], era: Era = "legacy"
    ) -> "Inspector":
        """Ask a command that speaks on standard input and output; it gets this environment, HOME and PATH."""
        told = [word for name, value in environment.items() for word in ("-e", f"{name}={value}")]
        return cls(home, ("--transport", "stdio", *told, "--", *command), era)

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools as the protocol lists them.

        Raises:
            InspectorError: there is no list.
        """
        tools: list[dict[str, Any]] = self._ask("tools/list")["result"]["tools"]
        return tools

    def findings(self) -> list[dict[str, Any]]:
        """Return what the inspector has against the tools' schemas: a ``toolName`` and its ``findings``, for each.

        Raises:
            InspectorError: there is no list.
        """
        findings: list[dict[str, Any]] = self._ask("tools/list", "--strict").get("schemaFindings", [])
        return findings

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return the result as the protocol has it, ``isError`` or not.

        Structured content has been held against the tool's output schema.

        Raises:
            InspectorError: there is no such tool, or no result that the schema takes.
        """
        words = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        result: dict[str, Any] = self._ask("tools/call", *words)["result"]
        return result

    def _ask(self, method: str, *options: str) -> dict[str, Any]:
        asked = ["--method", method, *options, "--protocol-era", self.era]
        machine_readable = ["--format", "json", "--quiet", "--stored-auth-only"]  # and opens no browser to log in
        # 15 s by default, too short for a machine that does much else
        patient = ["--connect-timeout", str(_SECONDS * 1000 // 2)]
        done = subprocess.run(
            [NODE, INSPECTOR, "--cli", *asked, *machine_readable, *patient, *self.target],
            cwd=self.home,
            env={"HOME": str(self.home), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode in _WITH_RESULT and done.stdout:
            answer: dict[str, Any] = json.loads(done.stdout)
            return answer
        error = json.loads(done.stderr.splitlines()[-1])["error"]
        raise InspectorError(error["code"], error["message"])
