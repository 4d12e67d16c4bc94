"""Cloudflare's command line, told to take a double for Cloudflare."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_gateway_double.server import Handle
from tests.conformance.toolchain import NODE, WRANGLER

_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Wrangler:
    """Runs commands in a folder of its own."""

    folder: Path
    double: Handle

    def ok(self, *arguments: str) -> str:
        """Run a command that must succeed and return what it prints."""
        done = subprocess.run(
            [NODE, WRANGLER, *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """Run a command and return the JSON it prints."""
        return json.loads(self.ok(*arguments, "--json"))

    def configure(self, **config: Any) -> None:
        """Write the project's file."""
        project = {"name": "memory-gateway", "compatibility_date": "2026-11-01", **config}
        (self.folder / "wrangler.json").write_text(json.dumps(project), encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        options = self.double.double.options
        return {
            "HOME": str(self.folder),
            "PATH": str(NODE.parent),
            "CI": "true",  # asks nothing
            "CLOUDFLARE_API_BASE_URL": self.double.cloudflare_url,
            "CLOUDFLARE_API_TOKEN": options.api_token,
            "CLOUDFLARE_ACCOUNT_ID": options.account_id,
            "WRANGLER_SEND_METRICS": "false",
            "WRANGLER_HIDE_BANNER": "true",  # and does not ask npm for a newer version
            "WRANGLER_WRITE_LOGS": "false",
        }
