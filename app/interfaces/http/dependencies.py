"""Dependencies of routes: the entry of a request, once its credential and its form were checked."""

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from functools import cached_property
from inspect import get_annotations
from typing import Annotated, Any

from fastapi import Depends, Request, Security, params
from fastapi.security import HTTPBearer
from starlette.responses import Response

from app.domain.acts import ActName
from app.domain.author import WriteChannel
from app.domain.errors import FieldError, Forbidden, TenantMoved, UnsupportedMediaType
from app.domain.quotas import Use
from app.interfaces.fields import refused
from app.interfaces.hints import hint
from app.interfaces.http.direct import DirectReader
from app.interfaces.http.middleware import WITH_BODIES
from app.interfaces.http.named_route import NamedRoute
from app.interfaces.http.problems import QUOTA_WARNING, response_to
from app.interfaces.request_state import NOTE, VERIFIED
from app.runtime.entry import CallEntry, admit, principal_of
from app.runtime.shards import Shards
from app.services.access.scopes import CLAIM_OF, AccessScope
from app.services.memories.write import Warn

JSON = "application/json"


class _Credential(HTTPBearer):
    """Checks a request's bearer credential, its media type and its query parameters."""

    def __init__(
        self,
        *scopes: AccessScope,
        media_types: Sequence[str] = (JSON,),
        channel: WriteChannel = "http",
        parameters: Collection[str] = (),
    ) -> None:
        """Require these scopes of the credential, and bodies of one of these media types.

        Without media types, a request needs no body, and the type of a body is not checked. ``parameters`` are the
        query parameters that a POST, PUT or PATCH may have.
        """
        super().__init__(
            bearerFormat="JWT",
            scheme_name="credential",
            description=(
                "A credential from `memory-gateway token`, or an access token of the issuer that the service is set to "
                "(docs/sign-in.md): it names the tenant."
            ),
        )
        self.scopes = scopes
        self.media_types = media_types
        self._channel = channel
        self._parameters = parameters

    async def __call__(self, request: Request) -> CallEntry:  # type: ignore[override]  # returns more than the base class
        """Verify the credential, then the form of the request.

        Raises:
            Unauthenticated, Forbidden: the credential is not valid, or lacks the scope.
            UnsupportedMediaType, InvalidRequest: the body is of another type, or query parameters are unknown.
        """
        entry: CallEntry = request.state.entry
        entry = entry.within(*self.scopes, channel=self._channel)
        if request.method in WITH_BODIES:
            if self.media_types:
                _check_media_type(request, self.media_types)
            _check_query(request, self._parameters)
        if request.scope["query_string"]:
            await no_repeats(request)
        return entry


def is_administrative(dependency: object) -> bool:
    """Tell whether a dependency asks for an administrator's credential."""
    return isinstance(dependency, _Credential) and "admin" in dependency.scopes


def dependencies_of(endpoint: Callable[..., object]) -> Iterator[object]:
    """Yield what the parameters of a route's function depend on."""
    for annotation in get_annotations(endpoint).values():
        for each in getattr(annotation, "__metadata__", ()):
            if isinstance(each, params.Depends):
                yield each.dependency


class CredentialFirst(NamedRoute):
    """A route that verifies the credential before it reads the body; FastAPI would read the body first.

    It cannot be made without a parameter such as ``ReadCaller``, which says which scopes it needs.

    Where the tenant has moved to another shard meanwhile, the request is handled once more there, if it has written
    nothing and its body can be read again.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:  # noqa: ANN401 - as above
        """Make the route as any; raises ``TypeError`` where no scope is declared."""
        super().__init__(path, endpoint, **settings)
        declared = [each for each in dependencies_of(endpoint) if isinstance(each, _Credential)]
        if len(declared) != 1:
            raise TypeError(f"{path} does not say once which scopes it needs")
        self.scopes = declared[0].scopes

    @cached_property
    def reader(self) -> DirectReader | None:
        """Reads the requests that are answered without FastAPI's layers; None where the route needs more of them."""
        return DirectReader.of(self, _is_of_json)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that verifies the credential, then handles the request."""
        handle = super().get_route_handler()

        async def verify_then_handle(request: Request) -> Response:
            entry = request.state.entry = await entry_of(request)
            try:
                return await handle(request)
            except TenantMoved as moved:
                if not moved.repeatable or _is_streamed(request):
                    raise
            except Forbidden as error:
                self._refused(entry, error)
                raise
            request.state.entry = await entry_of(request)
            return await handle(request)

        return verify_then_handle

    async def answer(self, request: Request) -> Response:
        """Answer a request without FastAPI's layers, as ``verify_then_handle`` does with them; only with a ``reader``.

        Raises:
            Exception: a defect, of which no answer can be made.
        """
        reader: DirectReader = self.reader  # type: ignore[assignment]  # ``DirectRoutes`` finds no route without one
        try:
            last = False
            while True:
                entry = request.state.entry = await entry_of(request)
                try:
                    values, beside = await reader.read(request)
                    return reader.response(await self.endpoint(**values), beside)
                except TenantMoved as moved:
                    if last or not moved.repeatable:
                        raise
                    last = True
                except Forbidden as error:
                    if not last:
                        self._refused(entry, error)
                    raise
        except Exception as error:  # noqa: BLE001 - what no answer can be made of is raised again
            response = await response_to(request, error)
            error.__traceback__ = None  # one error may be raised for many requests
            return response

    def _refused(self, entry: CallEntry, error: Forbidden) -> None:
        act: ActName = getattr(self.endpoint, "act", "access")
        entry.refused(error, act)


async def entry_of(request: Request) -> CallEntry:
    """Verify a request's credential and return its entry; raises the errors of ``principal_of`` and ``admit``."""
    shards = shards_of(request)
    principal = await principal_of(shards, request.headers.getlist)
    entry = await admit(shards, principal, request.scope["state"][NOTE])
    request.scope["state"][VERIFIED] = True
    return entry


def _is_streamed(request: Request) -> bool:
    """Tell whether the body is read in parts, which come only once."""
    return request.method in WITH_BODIES and not hasattr(request, "_body")


async def no_query(request: Request) -> None:
    """Refuse query parameters on a route that has none."""
    _check_query(request, ())


def _check_query(request: Request, known: Collection[str]) -> None:
    names = sorted(set(request.query_params) - set(known)) if request.scope["query_string"] else []
    if names:
        errors = [FieldError(name, f"is not a parameter of this request{hint(name)}") for name in names]
        raise refused(errors, None if known else "This request takes no query parameters.")


async def no_repeats(request: Request) -> None:
    """Refuse a query parameter that comes twice: one of its values would be ignored."""
    if request.scope["query_string"]:
        given = Counter(name for name, _ in request.query_params.multi_items())
        repeated = sorted(name for name, times in given.items() if times > 1)
        if repeated:
            raise refused([FieldError(name, "is given more than once") for name in repeated])


def _check_media_type(request: Request, wanted: Sequence[str]) -> None:
    media_type = request.headers.get("content-type", "").split(";")[0]
    if media_type.strip().lower() not in wanted:
        raise UnsupportedMediaType(f"Send the body as Content-Type: {' or '.join(wanted)}.")


def shards_of(request: Request) -> Shards:
    """Return the application's shards."""
    shards: Shards = request.app.state.shards
    return shards


def _needing(*scopes: AccessScope, **form: Any) -> Any:  # noqa: ANN401 - as FastAPI's own
    """Return the dependency on a credential with these scopes, which the OpenAPI document names by their words."""
    words = dict.fromkeys(word for scope in scopes for word in CLAIM_OF[scope].split())
    return Security(_Credential(*scopes, **form), scopes=[*words])


ReadCaller = Annotated[CallEntry, _needing("read")]
"""The entry of a request that reads what is remembered, whatever is noted of the reading."""
WriteCaller = Annotated[CallEntry, _needing("write")]
"""The entry of a request that writes, and whose answer tells nothing that others have written."""
ReadWriteCaller = Annotated[CallEntry, _needing("read", "write")]
"""The entry of a request that writes, and whose answer has what others have written."""
DryRunCaller = Annotated[CallEntry, _needing("write", parameters=("dry_run",))]
"""The entry of a request that writes, and may be a dry run."""
BlobCaller = Annotated[CallEntry, _needing("write", media_types=(), parameters=("agent_id",))]
"""The entry of a request that writes a body of any type, whose query names the agent."""
BodylessWriteCaller = Annotated[CallEntry, _needing("write", media_types=())]
BodylessReadWriteCaller = Annotated[CallEntry, _needing("read", "write", media_types=())]
"""The same as those without ``Bodyless``, for a request that needs no body."""
Administrator = Annotated[CallEntry, _needing("admin")]
"""The entry of a request that administers."""
AgentAdministrator = Annotated[CallEntry, _needing("admin", parameters=("agent_id",))]
"""The entry of an administrator's request with a body, whose query names the agent."""
BodylessAdministrator = Annotated[CallEntry, _needing("admin", media_types=())]
"""The entry of an administrator's request that needs no body."""


async def _warns(request: Request, response: Response) -> Warn:
    def warn(uses: Sequence[Use]) -> None:
        if uses:
            request.scope["state"][NOTE].quotas_near = [use.name for use in uses]
            response.headers[QUOTA_WARNING] = ", ".join(use.header for use in uses)

    return warn


def _is_of_json(dependency: object) -> bool:
    """Tell whether a dependency takes a request with a body of JSON, and reads nothing else but what is beside it."""
    return dependency is _warns or (isinstance(dependency, _Credential) and dependency.media_types == (JSON,))


QuotaWarning = Annotated[Warn, Depends(_warns)]
"""A function that takes the quotas of which little is left, and names them in the answer's header."""
NDJSON, OCTETS = LINES_TYPES = ("application/x-ndjson", "application/octet-stream")
"""The media types of lines. Some generated clients can send and read only the second."""


def octets_or(media_type: str, request: Request) -> str:
    """Return the answer's media type: bytes where the request accepts these by name and not ``media_type``."""
    accepted = request.headers.get("accept", "").lower()
    return OCTETS if OCTETS in accepted and media_type not in accepted else media_type


Importer = Annotated[CallEntry, _needing("admin", media_types=LINES_TYPES, channel="import")]
"""The entry of an administrator's request with a body of lines, which writes through the import channel."""
