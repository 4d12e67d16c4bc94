"""The command that gives an agent on this machine its memory, as an MCP server on standard input and output."""

import asyncio
import signal

import click

from app.bootstrap import build_runtime
from app.cli.parameters import Id, quiet_settings, tenant_option
from app.errors import ConfigurationError
from app.mcp_server.stdio import serve_gateway, serve_tools
from app.settings import Settings


@click.command()
@click.option(
    "--agent", type=Id(), envvar="MEMORY_GATEWAY_AGENT", help="Whose memory, where the credential names none."
)
@click.option(
    "--url", envvar="MEMORY_GATEWAY_URL", help="A running gateway to pass everything on to; else this process."
)
@click.option(
    "--token", envvar="MEMORY_GATEWAY_TOKEN", help="The credential for it, best given as MEMORY_GATEWAY_TOKEN."
)
@tenant_option
def mcp(agent: str | None, url: str | None, token: str | None, tenant: str) -> None:
    """Serve the memory tools over MCP on standard input and output.

    With --url over a running gateway, whose tenant the credential names. Without, over the data of this process's own
    settings, the embedded default or Cloudflare, for --tenant.
    """
    settings = quiet_settings()
    if url is None:
        _end_when_interrupted()
        asyncio.run(_serve_here(settings, tenant, agent))
    elif token is None:
        raise ConfigurationError("MEMORY_GATEWAY_TOKEN is not set: the gateway asks for a credential.")
    else:
        _end_when_interrupted()
        asyncio.run(serve_gateway(url, token.strip(), agent))  # a file it was read from ends in a line break


def _end_when_interrupted() -> None:
    """End at once on an interrupt, as on SIGTERM; Python's own way would wait for one more line of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def _serve_here(settings: Settings, tenant_id: str, agent_id: str | None) -> None:
    runtime = build_runtime(settings)
    try:
        await runtime.start()
        await serve_tools(runtime, tenant_id, agent_id)
    finally:
        await runtime.close()
