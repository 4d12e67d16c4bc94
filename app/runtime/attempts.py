"""Work in the background of which one failure must not be the last."""

from collections.abc import Awaitable, Callable

import structlog

from app.domain.errors import MemoryGatewayError


async def attempt(work: Callable[[], Awaitable[object]], *, waits: str) -> bool:
    """Do work that is tried again later, and return whether it is done.

    A failure is logged, an outage under the event ``waits``.
    """
    try:
        await work()
    except MemoryGatewayError as error:
        structlog.get_logger().warning(waits, code=error.code, reason=error.detail)
    except Exception:  # noqa: BLE001 - a defect is logged and must not stop the work for good
        structlog.get_logger().exception("background_failed")
    else:
        return True
    return False
