"""Where the service is, and the credential: a file that the user alone can read says it, and nothing else does."""

from __future__ import annotations

import json
import os
import re
import stat

from memory_gateway_hook.failures import Failed

_ADDRESS = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?(/[^?#@]*)?")
PROMPT_SECONDS = 0.3
MAX_PROMPT_SECONDS = 5
_LAST_PORT = 65_535
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Pinned:
    """Where the service is, and the credential, as the user's own file says.

    Attributes:
        url: The address, as the user has written it.
        secure: Whether it is ``https``.
        host, port, path: The parts of the address.
        token: The credential.
        agent: The profile; None: one of the project's directory.
        prompt_seconds: How long a prompt may wait, with Python's start.
    """

    def __init__(self, url: object, token: object, agent: object = None, prompt_seconds: object = None) -> None:
        """Check them.

        Raises:
            Failed: the address is none, or in the clear beyond this machine; the credential or the profile is none.
        """
        self.secure, self.host, self.port, self.path = _address(url)
        if not isinstance(token, str) or not re.fullmatch("[!-~]+", token):
            raise Failed("token is no credential")
        if agent is not None and not (isinstance(agent, str) and agent):
            raise Failed("agent is no profile")
        seconds = PROMPT_SECONDS if prompt_seconds is None else prompt_seconds
        if not isinstance(seconds, (int, float)) or not 0 < seconds <= MAX_PROMPT_SECONDS:
            raise Failed(f"prompt_seconds is no number of at most {MAX_PROMPT_SECONDS}")
        self.url, self.prompt_seconds = str(url).rstrip("/"), float(seconds)
        self.token, self.agent = token, agent


def _address(url: object) -> tuple[bool, str, int, str]:
    """Return whether an address is ``https``, and its host, port and path.

    Raises:
        Failed: it is none, or in the clear beyond this machine.
    """
    if not isinstance(url, str) or not re.fullmatch("https?://[!-~]+", url):
        raise Failed("url is not an http or https address")
    parts = _ADDRESS.fullmatch(url)
    if parts is None or not 0 < int(parts[3] or 80) <= _LAST_PORT:
        raise Failed("url is no address of a service")
    secure, host = parts[1] == "https", parts[2].strip("[]")
    if not secure and not _is_this_machine(host):
        raise Failed("url must begin with https: the credential would pass the network in the clear")
    return secure, host, int(parts[3] or (443 if secure else 80)), (parts[4] or "").rstrip("/")


def _is_this_machine(host: str) -> bool:
    if host in _LOOPBACK:
        return True
    import ipaddress  # noqa: PLC0415 - the usual ones are known without it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def pinned_file() -> str:
    """Return the user's file. The account says where their home is, and no variable of the environment."""
    if os.name == "posix":
        import pwd  # noqa: PLC0415 - not there elsewhere

        home = pwd.getpwuid(os.getuid()).pw_dir
    else:
        home = os.path.expanduser("~")
    return os.path.join(home, ".config", "memory-gateway", "claude-code.json")


def is_private(status: os.stat_result) -> bool:
    """Tell whether a file or a folder is the user's, and nobody else may read or write it."""
    return os.name != "posix" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def read_pinned(path: str) -> Pinned:
    """Read the user's file.

    Raises:
        Failed: it is missing, somebody else may read or write it, or it says something that cannot be used.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not (stat.S_ISREG(status.st_mode) and is_private(status)):
                raise Failed(f"{path} must be a file of yours that nobody else can read: chmod 600")
            content = json.loads(file.read(64 * 1024))
    except FileNotFoundError as error:
        raise Failed(f"{path} is missing: memory_hook.py setup writes it") from error
    except (OSError, ValueError, RecursionError) as error:
        raise Failed(f"{path} cannot be read ({type(error).__name__})") from error
    if not isinstance(content, dict):
        raise Failed(f"{path} is no JSON object")
    try:
        return Pinned(content.get("url"), content.get("token"), content.get("agent"), content.get("prompt_seconds"))
    except Failed as failure:
        raise Failed(f"{path}: {failure}") from failure


def write_pinned(path: str, pinned: Pinned) -> None:
    """Write the user's file, which is never there in part, or for others to read.

    Raises:
        OSError: it cannot be written.
    """
    import tempfile  # noqa: PLC0415 - the user runs this once

    folder = os.path.dirname(path) or "."
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=folder, prefix=".claude-code.")  # of the mode 0600
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump({"url": pinned.url, "token": pinned.token, "agent": pinned.agent}, file)
    os.replace(draft, path)


def profile_of(project: str, agent: str | None = None) -> str:
    """Return the profile: the agent where the user's file names one, else one of the project's directory."""
    if agent is not None:
        return agent
    import hashlib  # noqa: PLC0415 - not needed where the file names the agent

    folder = os.path.realpath(project)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(folder))[:30] or "root"
    return f"claude-code:{name}:{hashlib.sha256(os.fsencode(folder)).hexdigest()[:10]}"
