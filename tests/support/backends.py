"""What the service may run on, for suites that hold on every one of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from app.adapters.local.hashing import HashingEmbedder
from memory_gateway_double.account import Double, DoubleOptions
from memory_gateway_double.server import Application, Handle, running
from tests.support import migrated
from tests.support.clock import Clock, clock_of

BackendName: TypeAlias = Literal["embedded", "cloudflare"]
AT_ONCE = (0.0, 0.0)


class Backend:
    """Gives each data directory settings of its own: the same directory, the same memories."""

    moves_clock = True
    """Whether the clock of the database follows that of a test."""

    def __init__(
        self,
        name: BackendName,
        *,
        visibility_seconds: tuple[float, float] = AT_ONCE,
        filterable: dict[str, str] | None = None,
        rate_limit: bool = False,
        time_scale: float = 1.0,
        served: Callable[[Double], Application] | None = None,
    ) -> None:
        self.name = name
        self.doubles: dict[Path, Handle] = {}
        self._clocks: dict[Path, Clock] = {}
        self._visibility_seconds = visibility_seconds
        self._limited: dict[str, Any] = {"rate_limit": rate_limit, "time_scale": time_scale}
        self._served = served
        self._filterable = filterable or {}
        self._settings: dict[Path, dict[str, Any]] = {}
        self._stack = ExitStack()

    def settings(self, data_dir: Path) -> dict[str, Any]:
        if self.name == "embedded":
            return {}
        if data_dir not in self._settings:
            self._settings[data_dir] = self._account(data_dir)
        return self._settings[data_dir]

    def close(self) -> None:
        self._stack.close()

    def _account(self, data_dir: Path) -> dict[str, Any]:
        """Run a double for the directory, provisioned for the hashing embedder."""
        options = DoubleOptions(visibility_seconds=self._visibility_seconds, **self._limited)
        handle = self._stack.enter_context(running(options, self._served))
        self.doubles[data_dir] = handle
        self._clocks[data_dir] = clock_of(data_dir)
        self._clocks[data_dir].followed_by.append(handle.double.clock.forward)
        config = HashingEmbedder().config
        handle.double.create_index(config.index_name, config.dimensions, {**SCOPE_TYPES, **self._filterable})
        return {
            "cloudflare_account_id": options.account_id,
            "cloudflare_api_token": options.api_token,
            "cloudflare_api_base_url": handle.cloudflare_url,
            "cloudflare_d1_database_id": handle.double.create_database("memory-gateway", migrated.image()),
            "cloudflare_calls_per_window": 0,
            "filterable_metadata": self._filterable,
            "r2_bucket": options.r2_bucket,
            "r2_access_key_id": options.r2_access_key_id,
            "r2_secret_access_key": options.r2_secret_access_key,
            "r2_endpoint": handle.r2_url,
            "openai_api_key": options.openai_api_key,
            "openai_base_url": handle.openai_url,
        }


@contextmanager
def running_on(name: BackendName, **options: Any) -> Iterator[Backend]:
    backend = Backend(name, **options)
    try:
        yield backend
    finally:
        backend.close()
