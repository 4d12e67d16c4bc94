"""Commands that serve: the service itself, and the double."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import click

from app.double.account import DoubleOptions
from app.double.server import serve as serve_double
from app.observability.logs import configure_logging
from app.server import serve_http
from app.settings import load_settings


@click.command()
@click.option("--host", help="Address to listen on, instead of HOST.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on, instead of PORT.")
@click.option("--quickstart", is_flag=True, help="Once ready, print commands to try, with a credential.")
def serve(host: str | None, port: int | None, *, quickstart: bool) -> None:
    """Migrate and serve over HTTP."""
    settings = load_settings(host=host, port=port)
    configure_logging(settings.log_format, settings.log_level)
    try:
        served = asyncio.run(serve_http(settings, announce=click.echo if quickstart else None))
    except KeyboardInterrupt:  # how uvicorn passes on the Ctrl-C that it has obeyed
        return
    if not served:
        sys.exit(1)


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="Port to listen on.")
@click.option("--time-scale", type=float, default=1.0, show_default=True, help="How much faster its clocks run.")
@click.option("--no-rate-limit", is_flag=True, help="Do not block after 1,200 calls in 300 seconds.")
@click.option("--data-dir", type=click.Path(file_okay=False, path_type=Path), help="Keep its data; else in memory.")
def double(host: str, port: int, time_scale: float, data_dir: Path | None, *, no_rate_limit: bool) -> None:
    """Serve a stand-in for a Cloudflare account and OpenAI, with their limits, to rehearse against."""
    options = DoubleOptions(time_scale=time_scale, rate_limit=not no_rate_limit, data_dir=data_dir)
    configure_logging("auto", "info")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve_double(options, host, port, click.echo))
