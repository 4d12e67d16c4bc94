"""Remembers which agents were refused a store a moment ago: their next store is asked about before it is embedded."""

from app.domain.memory import Scope

REMEMBERED_MS = 60_000
_MAX_REMEMBERED = 10_000


class Refusals:
    """The scopes that were refused in the last minute. All tenants share one, since it is about this process's work."""

    def __init__(self) -> None:
        """Begin with none."""
        self._until: dict[Scope, int] = {}

    def note(self, scope: Scope, now: int) -> None:
        """Note a refusal at ``now``, in milliseconds since the epoch."""
        self._until.pop(scope, None)
        if len(self._until) >= _MAX_REMEMBERED:
            del self._until[next(iter(self._until))]
        self._until[scope] = now + REMEMBERED_MS

    def lately(self, scope: Scope, now: int) -> bool:
        """Tell whether a scope was refused in the minute before ``now``."""
        return self._until.get(scope, 0) > now
