"""Finds what serves a request by its method and path."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from memory_gateway_double.wire import Handler

_FIELD = re.compile(r"\{(\w+)(\*?)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """``template`` holds fields such as ``{database}``; ``{model*}`` also takes slashes."""

    operation: str
    method: str
    template: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class Found:
    """The route of a request, and what its path holds."""

    route: Route
    parameters: dict[str, str]


class Router:
    """Tries the routes in order. Slashes that are percent-encoded do not separate."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """Compile the templates."""
        self._routes = [(_pattern(route.template), route) for route in routes]

    def find(self, method: str, path: str) -> Found | None:
        """Return the first route for this method and (still encoded) path."""
        for pattern, route in self._routes:
            if route.method == method and (match := pattern.fullmatch(path)):
                return Found(route, {name: unquote(value) for name, value in match.groupdict().items()})
        return None

    def methods(self, path: str) -> Sequence[str]:
        """Return the methods that the path takes."""
        return [route.method for pattern, route in self._routes if pattern.fullmatch(path)]


def _pattern(template: str) -> re.Pattern[str]:
    parts: list[str] = []
    end = 0
    for field in _FIELD.finditer(template):
        parts += [re.escape(template[end : field.start()]), f"(?P<{field[1]}>{'.+' if field[2] else '[^/]+'})"]
        end = field.end()
    return re.compile("".join([*parts, re.escape(template[end:])]))
