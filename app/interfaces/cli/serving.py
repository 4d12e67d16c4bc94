"""The command that serves over HTTP."""

import asyncio
import sys

import click

from app.interfaces.cli.parameters import show_notices, show_place
from app.interfaces.server import serve_http
from app.observability.logs import configure_logging
from app.settings import load_settings


@click.command()
@click.option("--host", help="Listen on this address, instead of HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Listen on this port, instead of PORT.")
@click.option("--quickstart", is_flag=True, help="Print commands to try, with a credential, once it is ready.")
def serve(host: str | None, port: int | None, *, quickstart: bool) -> None:
    """Bring the data up to date and serve the API and MCP over HTTP."""
    settings = load_settings(host=host, port=port)
    configure_logging(settings.log_format, settings.log_level)
    show_notices(settings)
    show_place(settings)
    try:
        served = asyncio.run(serve_http(settings, announce=click.echo if quickstart else None))
    except KeyboardInterrupt:  # how uvicorn passes on the Ctrl-C that it has obeyed
        return
    if not served:
        sys.exit(1)
