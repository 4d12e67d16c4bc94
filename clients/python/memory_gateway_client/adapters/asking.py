"""How an adapter asks the service for an agent that goes on without a memory where the service does not answer."""

import asyncio
from collections.abc import Callable, Coroutine
from logging import Logger
from typing import Any, TypeAlias, TypeVar

from memory_gateway_client import AsyncMemoryClient, InvalidRequest, MemoryClient, MemoryGatewayError

T = TypeVar("T")

Client: TypeAlias = MemoryClient | AsyncMemoryClient
"""A ``MemoryClient`` may be shared by threads and by event loops; an ``AsyncMemoryClient`` is of one event loop."""

OnOutage: TypeAlias = Callable[[MemoryGatewayError], None]
"""Is told of a failure once, and of the next one only after an answer."""

SWITCHED_OFF = "long_term_disabled"
"""The code where an administrator has switched the agent's memory off: that is no failure."""


class Asking:
    """Asks for a framework, and tells of an outage once: not with each of the calls that fail during it."""

    def __init__(self, client: Client, log: Logger, *, on_outage: OnOutage | None = None, strict: bool = False) -> None:
        """Set it up.

        Args:
            client: What asks.
            log: Where an outage is told as a warning, unless ``on_outage`` takes it.
            on_outage: Is called with the failure in place of the log.
            strict: Whether a failure is raised, so that the agent's run ends.
        """
        self._client = client
        self._log = log
        self._on_outage = on_outage
        self._strict = strict
        self._away = False

    async def ask(
        self,
        call: Callable[[Client], T | Coroutine[Any, Any, T]],
        *,
        failure: Callable[[T], MemoryGatewayError | None] = lambda _: None,
    ) -> T | MemoryGatewayError:
        """Return what is answered, or why there is no answer; ``failure`` returns the error that an answer tells of.

        Raises:
            MemoryGatewayError: there is no answer, and the user has asked for that to be raised.
        """
        try:
            if isinstance(self._client, AsyncMemoryClient):
                answer = call(self._client)
            else:
                answer = await asyncio.to_thread(call, self._client)
            if isinstance(answer, Coroutine):
                answer = await answer
        except MemoryGatewayError as error:
            return self._failed(error)
        if (told := failure(answer)) is not None:
            return self._failed(told)
        self._away = False
        return answer

    def ask_waiting(self, call: Callable[[MemoryClient], T]) -> T | MemoryGatewayError:
        """Do the same where nothing can be awaited.

        Raises:
            TypeError: the client is one to await.
            MemoryGatewayError: as ``ask`` raises it.
        """
        if isinstance(self._client, AsyncMemoryClient):
            raise TypeError("An AsyncMemoryClient is awaited, and here nothing is: give a MemoryClient.")
        try:
            answer = call(self._client)
        except MemoryGatewayError as error:
            return self._failed(error)
        self._away = False
        return answer

    def _failed(self, error: MemoryGatewayError) -> MemoryGatewayError:
        if error.code == SWITCHED_OFF:
            return error
        if self._strict:
            raise error
        if isinstance(error, InvalidRequest):
            self._log.warning("The memory has refused a request: %s (%s)", error.detail, error.code)
        elif not self._away:
            self._away = True
            if self._on_outage is not None:
                self._on_outage(error)
            else:
                self._log.warning("The agent goes on without long-term memory: %s (%s)", error.detail, error.code)
        return error
