"""Runs wrangler, Cloudflare's command line, which bundles the edge Worker and uploads it."""

import asyncio
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.domain.errors import UpstreamRejected, UpstreamTimeout

_SECONDS = 300.0
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MOST_SAID = 600
"""Characters of wrangler's output that an error repeats."""
_ERROR = "[ERROR]"
_REPORT = "If you think this is a bug"
_KEPT = ("PATH", "HOME", "SYSTEMROOT", "TMPDIR", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
_OF_NPM = "npm_config_"
_QUIETLY = {
    "CI": "true",  # asks nothing
    "WRANGLER_SEND_METRICS": "false",
    "WRANGLER_HIDE_BANNER": "true",
    "WRANGLER_WRITE_LOGS": "false",
    "npm_config_update_notifier": "false",
}


class Wrangler:
    """Deploys a Worker and puts its secrets. Each call is a process of its own, which may be repeated."""

    def __init__(
        self, command: Sequence[str], folder: Path, account: Mapping[str, str], secrets: Collection[str]
    ) -> None:
        """Take the command's words, the folder that it runs in, and the account's environment.

        ``secrets`` are never repeated in errors.
        """
        self._command = command
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.lower().startswith(_OF_NPM)}
        self._environment = kept | _QUIETLY | dict(account)
        self._secrets = secrets

    async def deploy(self, configuration: Mapping[str, Any]) -> None:
        """Bundle and upload the Worker of a configuration.

        Raises:
            UpstreamRejected: wrangler failed; the error has its last lines.
            UpstreamTimeout: wrangler did not end in time, and was stopped.
        """
        with tempfile.TemporaryDirectory(prefix="memory-gateway-deploy-") as name:
            path = Path(name) / "wrangler.json"
            path.write_text(json.dumps(configuration), encoding="utf-8")
            await self._run("deploy", "--config", str(path))

    async def put_secret(self, worker: str, name: str, secret: str) -> None:
        """Give a Worker a secret, which goes through wrangler's standard input. Raises as ``deploy`` does."""
        await self._run("secret", "put", name, "--name", worker, given=secret)

    async def _run(self, *words: str, given: str = "") -> None:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *words,
            cwd=self._folder,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # npx starts wrangler, which has to end with it
        )
        try:
            async with asyncio.timeout(_SECONDS):
                told, _ = await process.communicate(given.encode())
        except TimeoutError as error:
            raise UpstreamTimeout(f"wrangler {words[0]} did not end within {_SECONDS:.0f} s.") from error
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            raise UpstreamRejected(f"wrangler {words[0]} failed: {self._last_lines(told.decode(errors='replace'))}")

    def _last_lines(self, told: str) -> str:
        text = _COLOUR.sub("", told)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        lines = [line.strip() for line in text[max(0, text.find(_ERROR)) :].splitlines()]
        return " ".join(line for line in lines if line and _REPORT not in line)[-_MOST_SAID:] or "it said nothing"


def find_wrangler(given: str | None, version: str) -> list[str] | None:
    """Return the words that start wrangler: those of a given path, or of npx; None where there is neither.

    Of npx it is a fixed version, which npx takes from the folder where it is installed, or from the registry.
    """
    if given is not None:
        found = shutil.which(given) or (given if Path(given).is_file() else None)
        if found is None:
            return None
        return ["node", found] if found.endswith((".js", ".mjs")) else [found]
    npx = shutil.which("npx")
    return None if npx is None else [npx, "--yes", f"wrangler@{version}"]
