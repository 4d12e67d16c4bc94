"""The command that serves over HTTP."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import Coroutine
from typing import Any

import click

from app.domain.errors import ConfigurationError
from app.interfaces.cli.parameters import show_notices, show_place
from app.interfaces.server.listener import bound, serve_http
from app.interfaces.server.workers import ParentConnection, serve_workers
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
    configure_logging(settings.log_format, settings.log_level, worker=descriptors is not None)
    if descriptors is None:
        show_notices(settings)
        show_place(settings)
    try:
        served = asyncio.run(_serving(settings, descriptors, quickstart=quickstart))
    except KeyboardInterrupt:  # how uvicorn passes on the Ctrl-C that it has obeyed
        return
    if not served:
        sys.exit(1)


def _serving(settings: Settings, descriptors: str | None, *, quickstart: bool) -> Coroutine[Any, Any, bool]:
    """Return what serves: in this process alone, with workers, or as one of them."""
    announce = click.echo if quickstart else None
    if descriptors is not None:
        sockets = [socket.socket(fileno=int(each)) for each in descriptors.split(",")]
        return serve_http(settings, announce=announce, sockets=sockets, parent=ParentConnection.of_worker())
    if settings.workers == 1:
        return serve_http(settings, announce=announce)
    if os.name != "posix":
        raise ConfigurationError("WORKERS: several processes share a socket only on Linux and macOS; set 1.")
    sockets = bound(settings.host, settings.port)
    return serve_workers(settings, sockets, lambda line: click.echo(line, err=True), quickstart=quickstart)
