"""The command that serves the double: ``memory-gateway double``, or ``memory-gateway-double`` without the gateway."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path

import click

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import serve


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option("--port", type=click.IntRange(0, 65535), default=8787, show_default=True, help="Listen on this port.")
@click.option("--time-scale", type=float, default=1.0, show_default=True, help="Run its clocks so many times faster.")
@click.option("--no-rate-limit", is_flag=True, help="Do not block after 1,200 calls in 300 seconds.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep its data in this folder; without it, in memory.",
)
def double(host: str, port: int, time_scale: float, data_dir: Path | None, *, no_rate_limit: bool) -> None:
    """Serve a stand-in for a Cloudflare account and OpenAI.

    It has their limits, and is there to rehearse against.
    """
    options = DoubleOptions(time_scale=time_scale, rate_limit=not no_rate_limit, data_dir=data_dir)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(options, host, port, click.echo))
