"""Serves with some of the recall's channels left out, to measure what they are worth.

``python -m bench.ablation PARTS`` serves as ``memory-gateway serve`` does; HOST, PORT and the other settings come from
the environment. PARTS are separated by commas; an empty text leaves out nothing.
"""

import asyncio
import sys
from collections.abc import Collection
from dataclasses import replace

from app.bootstrap import build_shards
from app.interfaces.server.listener import serve_http
from app.observability.logs import configure_logging
from app.retrieval.channels import CHANNELS
from app.retrieval.channels.channel import Channel
from app.retrieval.channels.lexical import Lexical
from app.runtime.shards import Shards
from app.settings import Settings, load_settings

CONTEXT = "context"
"""The neighbours' words, which the lexical channel counts."""
PARTS = ("lexical", "vector", CONTEXT, "key", "beside", "session", "names", "time", "numbers")
"""What can be left out: a channel by its name, or ``CONTEXT``."""


def channels_without(parts: Collection[str]) -> tuple[Channel, ...]:
    """Return the recall's channels without some parts."""
    kept = (channel for channel in CHANNELS if channel.name not in parts)
    return tuple(Lexical(context=CONTEXT not in parts) if isinstance(channel, Lexical) else channel for channel in kept)


def main() -> None:
    """Serve until told to stop."""
    without = [part for part in sys.argv[1].split(",") if part]
    settings = load_settings()
    configure_logging(settings.log_format, settings.log_level)

    def build(settings: Settings) -> Shards:
        shards = build_shards(settings)
        shards.main.backends = replace(shards.main.backends, channels=channels_without(without))
        return shards

    sys.exit(not asyncio.run(serve_http(settings, build=build)))


if __name__ == "__main__":
    main()
