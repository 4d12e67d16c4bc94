"""A route that is made when it is first asked for."""

from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import compile_path


class NamedRoute(APIRoute):
    """A route whose operation has the name of its function. It is made once, and applications serve it as it is.

    FastAPI takes as long to make the routes as the service to answer a hundred requests, and few processes need all.
    So a route knows its path, its methods and its function; the rest is made when it is first asked for: by the first
    request of the route, or for the OpenAPI document.
    """

    def __init__(
        self, path: str, endpoint: Callable[..., Any], *, method: str, settings: Callable[[], Mapping[str, Any]]
    ) -> None:
        """Take the path, the function, the method, and what returns FastAPI's other settings of a route."""
        self.path, self.endpoint, self.methods, self.name = path, endpoint, {method}, endpoint.__name__
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self._settings: Callable[[], Mapping[str, Any]] | None = settings
        self._making = RLock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of FastAPI's
        """Return an attribute that is not there until the rest is made; Python asks this for what it does not find."""
        with self._making:  # the document is made on a thread
            if name not in self.__dict__ and (settings := self._settings) is not None:
                self._settings = None
                try:
                    self._make(**settings())
                except BaseException:
                    self._settings = settings
                    raise
            return object.__getattribute__(self, name)

    def _make(self, **settings: Any) -> None:  # noqa: ANN401 - FastAPI's
        """Make the rest on a copy, and take it at once: another thread sees all of it, or waits."""
        whole = object.__new__(type(self))
        vars(whole).update(vars(self))
        APIRoute.__init__(
            whole, self.path, self.endpoint, methods=self.methods, generate_unique_id_function=_name_of, **settings
        )
        vars(self).update(vars(whole))


def _name_of(route: APIRoute) -> str:
    return route.name
