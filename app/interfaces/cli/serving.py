"""The command that serves over HTTP."""

import asyncio
import gc
import os
import socket
import sys
from functools import partial

import click

from app.bootstrap import build_shards, worker_count
from app.domain.errors import ConfigurationError
from app.interfaces.cli.parameters import show_notices, show_place
from app.interfaces.server.listener import bound, serve_http
from app.interfaces.server.worker_group import serve_workers
from app.interfaces.server.worker_processes import ParentConnection
from app.observability.logs import configure_logging
from app.settings import MAX_WORKERS, Settings, load_settings


@click.command()
@click.option("--host", help="Listen on this address, instead of HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Listen on this port, instead of PORT.")
@click.option(
    "--workers", type=click.IntRange(1, MAX_WORKERS), help="Serve with so many processes, instead of WORKERS."
)
@click.option("--quickstart", is_flag=True, help="Print commands to try, with a credential, once it is ready.")
@click.option("--worker", "descriptors", hidden=True, help="Be one of them, on the sockets of these file descriptors.")
def serve(
    host: str | None, port: int | None, workers: int | None, descriptors: str | None, *, quickstart: bool
) -> None:
    """Bring the data up to date and serve the API and MCP over HTTP."""
    gc.freeze()
    gc.enable()
    settings = load_settings(host=host, port=port, workers=workers)
    settings = settings.model_copy(update={"workers": worker_count(settings)})
    configure_logging(settings.log_format, settings.log_level, worker=descriptors is not None)
    if descriptors is None:
        show_notices(settings)
        show_place(settings)
    try:
        served = _serve(settings, descriptors, quickstart=quickstart)
    except KeyboardInterrupt:  # how uvicorn passes on the Ctrl-C that it has obeyed
        return
    if not served:
        sys.exit(1)


def _serve(settings: Settings, descriptors: str | None, *, quickstart: bool) -> bool:
    """Serve in this process alone, with workers, or as one of them; return whether the socket was ever listening."""
    announce = click.echo if quickstart else None
    if descriptors is not None:
        sockets = [socket.socket(fileno=int(each)) for each in descriptors.split(",")]
        parent = ParentConnection.of_worker()
        return asyncio.run(serve_http(settings, announce=announce, sockets=sockets, parent=parent))
    if not settings.several_workers:
        return asyncio.run(serve_http(settings, announce=announce))
    if os.name != "posix":
        raise ConfigurationError("WORKERS: several processes share a socket only on Linux and macOS; set 1.")
    sockets = bound(settings.host, settings.port)
    outcome = serve_workers(settings, sockets, lambda line: click.echo(line, err=True), quickstart=quickstart)
    if isinstance(outcome, bool):
        return outcome
    configure_logging(settings.log_format, settings.log_level, worker=True)
    announce = click.echo if outcome.announces else None
    build = partial(build_shards, counts=outcome.counts)
    parent, load = outcome.parent, outcome.load
    return asyncio.run(serve_http(settings, announce=announce, build=build, sockets=sockets, parent=parent, load=load))
