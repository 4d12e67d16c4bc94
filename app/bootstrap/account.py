"""The process's Cloudflare account: its client, and its part of the calls."""

import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.adapters.breaker import Breakers
from app.adapters.cloudflare.call_budget import FOR_COMMANDS, RESERVE, UNLEASED, CallBudget, for_commands
from app.adapters.cloudflare.client import CloudflareClient
from app.adapters.cloudflare.command_budget import CommandBudget
from app.adapters.cloudflare.d1 import D1Database
from app.adapters.cloudflare.tenant_calls import TenantCalls
from app.adapters.coalescing.gatherer import Metering
from app.domain.errors import ConfigurationError
from app.domain.shards import Shard
from app.observability.metrics import Metrics
from app.runtime.call_shares import CallShares, ProcessCalls
from app.settings import Settings
from app.storage.system.call_shares import CallLimits

Close = Callable[[], Awaitable[None]]


def build_client(
    settings: Settings, metrics: Metrics, call_budget: CallBudget | None = None, breakers: Breakers | None = None
) -> CloudflareClient:
    """Make the one Cloudflare client of this process. Without a budget it counts its own calls, and leases no share.

    Raises:
        ConfigurationError: a setting that the client needs is missing.
    """
    account_id, api_token = settings.cloudflare_account_id, settings.cloudflare_api_token
    if not (account_id and api_token):
        given = {"CLOUDFLARE_ACCOUNT_ID": account_id, "CLOUDFLARE_API_TOKEN": api_token}
        raise ConfigurationError(missing(given))
    return CloudflareClient(
        account_id=account_id,
        api_token=api_token,
        call_budget=call_budget or CallBudget(settings.cloudflare_calls_per_window or None),
        metrics=metrics,
        base_url=settings.cloudflare_api_base_url,
        breakers=breakers,
    )


@dataclass(frozen=True, slots=True)
class ProcessAccount:
    """The process's access to its Cloudflare account: its client, and its part of the calls."""

    client: CloudflareClient
    metering: Metering
    calls: ProcessCalls
    shares: CallShares


def open_account(
    settings: Settings, metrics: Metrics, name: str, breakers: Breakers, *, command: bool = False
) -> ProcessAccount:
    """Open the process's account once, for all shards that it serves.

    A ``command`` leases a share of the calls too, but waits for calls and leaves them to requests.
    """
    make = CommandBudget if command else CallBudget
    budget = make(settings.cloudflare_calls_per_window or None, unleased=UNLEASED)
    tenants = TenantCalls(budget, settings.tenant_call_weights)
    client = build_client(settings, metrics, budget, breakers)
    shares = _call_shares(settings, client, budget, name)
    metering = Metering(tenants.charge, tenants.linger)
    return ProcessAccount(client, metering, ProcessCalls(tenants.admit, lambda: tenants.low, budget.left), shares)


def open_short_command(settings: Settings, metrics: Metrics, *, first: bool = False) -> CloudflareClient:
    """Make the client of a command that makes few calls, or makes them before the schema exists: it leases no share.

    ``first``: no other process makes calls yet, so that the command may make as many as all processes together.
    """
    limit = settings.cloudflare_calls_per_window
    return build_client(settings, metrics, CommandBudget((limit if first else min(limit, FOR_COMMANDS)) or None))


def process_name() -> str:
    """Return a unique name for this process: its host, its process id and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def _call_shares(settings: Settings, client: CloudflareClient, budget: CallBudget, name: str) -> CallShares:
    first = D1Database(client, _database_id(settings), for_share=True)
    limit = settings.cloudflare_calls_per_window
    limits = CallLimits(limit - RESERVE, for_commands(limit))
    return CallShares(first, budget, replica=name, limits=limits, discover=client.discover)


def shard_database_id(settings: Settings, shard: Shard | None) -> str:
    """Return the id of a shard's database; where no shard is given, the id of the settings' database.

    Raises:
        ConfigurationError: the shard has no database, or the settings name none.
    """
    if shard is None:
        return _database_id(settings)
    if shard.database_id is None:
        raise ConfigurationError("It has no database: it was added without Cloudflare.")
    return shard.database_id


def _database_id(settings: Settings) -> str:
    given = {
        "CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id,
        "CLOUDFLARE_API_TOKEN": settings.cloudflare_api_token,
        "CLOUDFLARE_D1_DATABASE_ID": settings.cloudflare_d1_database_id,
    }
    if not (settings.cloudflare_d1_database_id and all(given.values())):
        raise ConfigurationError(missing(given))
    return settings.cloudflare_d1_database_id


def missing(given: dict[str, str | None]) -> str:
    """Return a sentence that names the settings that are not set, and those that are."""
    absent = [name for name, value in given.items() if not value]
    present = [name for name, value in given.items() if value]
    because = f", while {' and '.join(present)} {'is' if len(present) == 1 else 'are'}" if present else ""
    return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not set{because}."
