"""Runs the application on a socket until it is stopped."""

import asyncio
import errno
import gc
import json
import os
import shlex
import shutil
import socket
import sys
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from app.bootstrap import build_shards
from app.domain.errors import ConfigurationError, MemoryGatewayError
from app.domain.moments import wall_clock
from app.interfaces.asgi import create_app, session_times
from app.interfaces.console.sign_in import sign_in_link
from app.interfaces.http.anonymous import ALWAYS_ANSWERED
from app.interfaces.http.metrics_readers import MetricsReaders
from app.interfaces.http.middleware import IN_NETWORK
from app.interfaces.load_shedding import LoadShedding
from app.interfaces.mcp.http import PATH as MCP_PATH
from app.interfaces.server.guarded_http import guarded
from app.interfaces.server.open_files import ACCEPTED_AT_ONCE, connection_limits
from app.interfaces.server.process_memory import LoadedFiles, give_memory_back, keep_freed_memory
from app.interfaces.server.server import Announce, Server
from app.interfaces.server.worker_loads import WorkerLoad
from app.interfaces.server.worker_processes import ParentConnection
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.settings import Settings

_WHO = "default"
_PROGRAM = "memory-gateway"
_GIVE_BACK_SECONDS = 30.0
_REFUSALS = {
    errno.EADDRINUSE: "PORT {port} is taken on {host}. Stop what listens there, or set another: PORT={other}",
    errno.EACCES: "PORT {port} needs rights that this user has not.",
}
_SWITCH_SECONDS = 0.0005
"""Seconds after which a thread that computes in Python makes room for the event loop, which a request needs many times.

With Python's own 5 ms a request waits that long each time while a long text is embedded or an import is written."""
_LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


async def serve_http(
    settings: Settings,
    *,
    announce: Announce | None = None,
    build: Callable[[Settings], Shards] = build_shards,
    sockets: list[socket.socket] | None = None,
    parent: ParentConnection | None = None,
    load: WorkerLoad | None = None,
) -> bool:
    """Serve until told to stop. Return whether the socket was ever listening.

    A worker has a connection to its ``parent``, the process that started it, and listens on the sockets that its parent
    has bound. Its ``load`` tells what other workers have to do, where that is known.

    Raises:
        ConfigurationError: a setting cannot work, or the port is taken.
        SchemaTooNew: the data belongs to a newer version.
    """
    if sockets is None:
        for each in bound(settings.host, settings.port):
            each.close()
    keep_freed_memory()
    shards = build(settings)
    loaded = LoadedFiles()
    try:
        await shards.start()
    except MemoryGatewayError:
        await shards.close()
        raise
    readers = MetricsReaders(everyone=settings.metrics == "open", token=settings.metrics_token)
    application = create_app(
        shards,
        allowed_hosts(settings),
        reports=settings.report_calls,
        console=session_times(settings),
        metrics_readers=readers,
    )
    _leave_what_is_loaded_alone()
    sys.setswitchinterval(_SWITCH_SECONDS)
    say = announce and (lambda url: announce(_what_to_try(url, shards.main, settings)))
    server = Server(_config(application, settings, shards, load), say, parent, load)
    beside = [asyncio.create_task(give_memory_back(loaded, _GIVE_BACK_SECONDS))]
    if load is not None:
        beside.append(asyncio.create_task(load.keep_beating()))
    if settings.canary_minutes:
        from app.interfaces.canaries.rounds import keep_probing  # noqa: PLC0415 - it loads the pages of the console

        probing = keep_probing(application, shards, minutes=settings.canary_minutes, most_probes=settings.canary_probes)
        beside.append(asyncio.create_task(probing))
    try:
        await server.serve(sockets)
    finally:
        for task in beside:
            task.cancel()
    return server.started


def _leave_what_is_loaded_alone() -> None:
    """Have Python look for garbage less often, and not among the objects made until now, which stay.

    A request leaves few cycles. The collection after the freeze makes Python forget how many objects were frozen; it
    would wait until a quarter as many are new.
    """
    gc.collect()
    gc.freeze()
    gc.collect()
    gc.set_threshold(10_000, 10, 10)


def _config(application: ASGIApp, settings: Settings, shards: Shards, load: WorkerLoad | None) -> uvicorn.Config:
    """Return how uvicorn serves the application, and within which limits of connections."""
    shedding = LoadShedding(
        shards.check_turn,
        shards.main.metrics.request,
        passing={*ALWAYS_ANSWERED, MCP_PATH},
        reports=settings.report_calls,
    )
    return uvicorn.Config(
        application,
        host=settings.host,
        port=settings.port,
        http=guarded(
            connection_limits(settings.max_connections, beside=0 if load is None else _files_of_vectors(settings)),
            finished={MCP_PATH},
            always=ALWAYS_ANSWERED,
            refusal=shedding.refusal,
            counted=(lambda _: None) if load is None else load.opened,
        ),
        backlog=ACCEPTED_AT_ONCE,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def _files_of_vectors(settings: Settings) -> int:
    """Return the most files that vectors which workers share have open: two for each block, of 1 MiB at least."""
    return 2 * (settings.index_cache_bytes >> 20)


def allowed_hosts(settings: Settings) -> list[str]:
    """Return the host names that requests may be addressed to; an empty list stands for all names.

    This machine's loopback names are always among them: health checks use these, and no page of another site can have
    them. Where the settings name no hosts, a service that listens beyond this machine also answers to the names that it
    may have in its network: addresses, names without a dot, such as those of containers, and the machine's own. The
    host of the public URL is always among them too.
    """
    if "*" in settings.allowed_hosts:
        return []
    names = [*_LOOPBACK, *settings.allowed_hosts, *_written(settings.host)]
    if settings.public_url is not None:
        names += _written(urlsplit(settings.public_url).hostname or "")
    if not (settings.allowed_hosts or _is_loopback(settings.host)):
        names += [IN_NETWORK, socket.gethostname().lower()]
    return names


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host.lower() in {"localhost", "ip6-localhost", "ip6-loopback"}
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _written(host: str) -> list[str]:
    """Return an address as a Host header has it; an empty list for a loopback name that is always allowed."""
    name = f"[{host.lower()}]" if ":" in host else host.lower()
    return [] if name in _LOOPBACK else [name]


def bound(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of the host that this machine has, bound and not listening yet.

    Raises:
        ConfigurationError: the port is taken, or needs rights that this user has not.
    """
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, address in _addresses(host, port):
        own = socket.socket(family, kind, protocol)
        try:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            own.bind(address)
            sockets.append(own)
        except OSError as error:
            own.close()
            if error.errno in _REFUSALS:
                for each in sockets:
                    each.close()
                raise ConfigurationError(_REFUSALS[error.errno].format(host=host, port=port, other=port + 1)) from error
    if not sockets:
        raise ConfigurationError(f"HOST {host} is no address of this machine.")
    return sockets


def _addresses(host: str, port: int) -> list[tuple[Any, ...]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ConfigurationError(f"HOST {host} is no address of this machine: {error.strerror}.") from error
    return [address for address in found if address[0] == socket.AF_INET or socket.has_dualstack_ipv6()]


def own_command(called: str) -> str:
    """Return the command by which a shell in any folder calls this program, which was started as ``called``."""
    path = str(Path(called).absolute())
    if os.sep not in called or shutil.which(_PROGRAM) == path:
        return _PROGRAM
    return shlex.quote(path)


def _what_to_try(url: str, runtime: Runtime, settings: Settings) -> str:
    command = own_command(sys.argv[0])
    if runtime.not_ready is not None:
        reason = runtime.not_ready.detail
        return f"\nMemory Gateway listens on {url}, but is not ready: {reason}\n\n  command   {command}\n"
    now = wall_clock()
    token = runtime.credentials.issue(_WHO, agent_id=_WHO, now=now)
    signs_in = runtime.credentials.verify(runtime.credentials.issue(_WHO, admin=True, now=now), now)
    link = f"{url}{sign_in_link(runtime.credentials, signs_in, now)}"

    def curl(path: str, body: dict[str, Any]) -> str:
        headers = "-H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'"
        return f"curl -sS {url}{path} {headers} -d {shlex.quote(json.dumps(body))}"

    return f"""
Memory Gateway is ready on {url}

  memories  {settings.kept_in}
  tenant    {_WHO}
  agent     {_WHO}
  API       {url}/docs
  MCP       {url}/mcp, with the same Authorization header
  command   {command}
{
        f'''
Open the console with this link, within five minutes. It signs you in once:

{link}
'''
        if settings.console
        else ""
    }
Paste these lines into another terminal:

export TOKEN={token}
{curl("/store", {"agent_id": _WHO, "content": "The customer prefers invoices in Swedish"})}
{curl("/recall", {"agent_id": _WHO, "query": "which language should bills be in?"})}
"""
