"""The command that serves the tools over MCP on standard input and output."""

import asyncio
import os
import signal

import click

from app.bootstrap import build_shards
from app.domain.errors import ConfigurationError
from app.interfaces.cli.parameters import DEFAULT, Id, quiet_settings
from app.interfaces.mcp.stdio import serve_gateway, serve_tools
from app.settings import PRINTABLE, Settings, is_base_url


class _Url(click.ParamType[str]):
    """Where a gateway is."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that it is a URL without a credential: errors show it."""
        if not is_base_url(value):
            self.fail("write one such as https://memory.example.com, without a user or a query", param, ctx)
        return value


@click.command()
@click.option(
    "--agent",
    type=Id(),
    envvar="MEMORY_GATEWAY_AGENT",
    help="Use the memory of this agent, where the credential names none; without --url, that of default.",
)
@click.option(
    "--url", type=_Url(), help="Pass everything on to the gateway that runs here; without it, this process answers."
)
@click.option(
    "--tenant", type=Id(), help="Use the memory of this tenant, without --url; without this, that of default."
)
def mcp(agent: str | None, url: str | None, tenant: str | None) -> None:
    """Serve the memory tools over MCP on standard input and output.

    With --url over a running gateway, with the credential in MEMORY_GATEWAY_TOKEN, which names the tenant. Without,
    over the data of this process's own settings, the embedded default or Cloudflare, for --tenant. Settings come from
    the environment and from the file that ENV_FILE names, never from the .env of the folder that a host has opened.
    """
    settings = quiet_settings(folder_file=False, kept_here=url is None)
    if url is None:
        _end_when_interrupted()
        asyncio.run(_serve_here(settings, tenant or DEFAULT, agent or DEFAULT))
        return
    if tenant is not None:
        raise click.UsageError("With --url the tenant is the credential's: leave --tenant out.")
    token = os.environ.get("MEMORY_GATEWAY_TOKEN", "").strip()  # a file it was read from ends in a line break
    if not PRINTABLE.fullmatch(token):
        raise ConfigurationError("MEMORY_GATEWAY_TOKEN holds no credential, which the gateway asks for.")
    _end_when_interrupted()
    asyncio.run(serve_gateway(url, token, agent))


def _end_when_interrupted() -> None:
    """End at once on an interrupt, as on SIGTERM; Python's own way would wait for one more line of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def _serve_here(settings: Settings, tenant_id: str, agent_id: str) -> None:
    shards = build_shards(settings)
    try:
        await shards.start()
        await serve_tools(shards, tenant_id, agent_id)
    finally:
        await shards.close()
