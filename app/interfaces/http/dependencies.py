"""Dependencies of routes: the verified credential, and the services it gives access to."""

from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from app.domain.author import WriteChannel
from app.domain.errors import FieldError, TenantMoved, UnsupportedMediaType
from app.domain.request_note import RequestNote
from app.interfaces.fields import refused
from app.interfaces.http.cursors import Cursors, Listing
from app.interfaces.request_state import VERIFIED, note_of
from app.runtime.runtime import Runtime
from app.runtime.shards import Shards
from app.runtime.tenant_services import TenantServices
from app.services.access.credentials import Principal


@dataclass(frozen=True, slots=True)
class Access:
    """What one request may reach: its tenant's services, by what is asked.

    ``agent`` is for what concerns one agent, ``tenant`` for looking at what may concern all of them, ``shared`` for
    reading and ``every_agent`` for writing what a tenant's agents share.
    """

    principal: Principal
    runtime: Runtime
    channel: WriteChannel = "http"
    note: RequestNote | None = None

    def agent(self, agent_id: str) -> TenantServices:
        """Return the tenant's services, for one agent.

        Raises:
            Forbidden: the credential is for another agent.
            MemoryGatewayError: the service is not ready; the error says why.
        """
        self.principal.check_agent(agent_id)
        return self._services()

    def tenant(self, agent_id: str | None = None) -> tuple[TenantServices, str | None]:
        """Return the tenant's services, and the only agent whose data may be touched; None stands for all agents.

        Args:
            agent_id: The only agent that is asked for.

        Raises:
            Forbidden: the credential is neither an administrator's nor for this agent alone.
            MemoryGatewayError: the service is not ready; the error says why.
        """
        only_agent = self.principal.readable(agent_id)
        return self._services(), only_agent

    def shared(self, agent_id: str | None = None) -> tuple[TenantServices, str | None]:
        """Return the tenant's services, and the only agent whose part of what agents share may be read; None: of all.

        Args:
            agent_id: The only agent that is asked for.

        Raises:
            Forbidden: the credential is for another agent.
            MemoryGatewayError: the service is not ready; the error says why.
        """
        own = self.principal.agent_id
        if own is not None:
            self.principal.check_agent(own if agent_id is None else agent_id)
        return self._services(), own or agent_id

    def every_agent(self) -> TenantServices:
        """Return the tenant's services, to write what all of its agents share.

        Raises:
            Forbidden: the credential is for one agent alone.
            MemoryGatewayError: the service is not ready; the error says why.
        """
        self.principal.check_every_agent()
        return self._services()

    def listing(self, what: str | None, cursor: str | None, **asked: object) -> Listing:
        """Return a listing of the tenant, from where the request's cursor goes on.

        Args:
            what: What it lists; None: long-term memory, whose cursors do not say it.
            cursor: The request's; None or empty: from the beginning.
            asked: All else that decides which listing it is, as JSON values and dataclasses of them.

        Raises:
            InvalidCursor: the cursor is of another listing, or too old.
        """
        named = {} if what is None else {"what": what}
        listing = {**asked, **named, "tenant_id": self.principal.tenant_id}
        return Listing(Cursors(self.runtime.credentials, listing), cursor, now=self.runtime.backends.clock())

    def _services(self) -> TenantServices:
        return self.runtime.services(self.principal.tenant_id, self.principal.author(self.channel), self.note)


class _Credential(HTTPBearer):
    """Checks a request's bearer credential, its media type and its query parameters."""

    def __init__(
        self,
        *,
        admin: bool,
        media_types: Sequence[str] = ("application/json",),
        channel: WriteChannel = "http",
        parameters: Collection[str] = (),
    ) -> None:
        """Require the scope ``memory admin`` or only ``memory``, and bodies of one of these media types.

        Without any, a request needs no body, and one that comes is not looked at. ``parameters`` are those that a
        request with a body may have in its query.
        """
        super().__init__(
            bearerFormat="JWT",
            scheme_name="credential",
            description="A credential from `memory-gateway token`: it names the tenant.",
        )
        self._admin = admin
        self._media_types = media_types
        self._channel = channel
        self._parameters = parameters

    async def __call__(self, request: Request) -> Access:  # type: ignore[override]  # returns more than the base class
        """Verify the credential, then the form of the request.

        Raises:
            Unauthenticated, Forbidden: the credential is not valid, or lacks the scope.
            UnsupportedMediaType, InvalidRequest: a body of another type, or unknown query parameters.
        """
        principal: Principal = request.state.principal
        if self._admin:
            principal.check_admin()
        if request.method in {"POST", "PUT"}:
            if self._media_types:
                _check_media_type(request, self._media_types)
            _check_query(request, self._parameters)
        await no_repeats(request)
        return Access(principal, runtime_of(request), self._channel, note_of(request.scope))


class NamedRoute(APIRoute):
    """A route whose operation has the name of its function. An application serves it as it is made here, once."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:  # noqa: ANN401 - FastAPI's
        """Make it with FastAPI's settings of a route."""
        super().__init__(path, endpoint, **settings | {"generate_unique_id_function": lambda route: route.name})


class CredentialFirst(NamedRoute):
    """A route that verifies the credential before it reads the body; FastAPI would read the body first.

    Where the tenant has moved to another shard meanwhile, the request is handled once more there, if it has written
    nothing and its body can be read again.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that verifies the credential, then handles the request."""
        handle = super().get_route_handler()

        async def verify_then_handle(request: Request) -> Response:
            request.state.principal = await principal_of(request)
            try:
                return await handle(request)
            except TenantMoved as moved:
                if not moved.repeatable or _is_streamed(request):
                    raise
            request.state.principal = await principal_of(request)
            return await handle(request)

        return verify_then_handle


async def principal_of(request: Request) -> Principal:
    """Return the verified principal of a request, which belongs to the runtime of its tenant from then on.

    Raises:
        MemoryGatewayError: as ``Shards.enter`` does.
    """
    principal, request.state.runtime = await shards_of(request).enter(request.headers.getlist("authorization"))
    request.scope["state"][VERIFIED] = True
    return principal


def _is_streamed(request: Request) -> bool:
    """Tell whether the body is read in parts, which come only once."""
    return request.method in {"POST", "PUT"} and not hasattr(request, "_body")


async def no_query(request: Request) -> None:
    """Refuse query parameters on a route that has none."""
    _check_query(request, ())


def _check_query(request: Request, known: Collection[str]) -> None:
    names = sorted(set(request.query_params) - set(known))
    if names and known:
        raise refused([FieldError(name, "is not a parameter of this request") for name in names])
    if names:
        errors = [FieldError(name, "is not a parameter of this request") for name in names]
        raise refused(errors, "This request takes no query parameters.")


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


def runtime_of(request: Request) -> Runtime:
    """Return the runtime of the tenant that a request speaks for; without one, that of the first shard."""
    runtime: Runtime | None = getattr(request.state, "runtime", None)
    return runtime or shards_of(request).main


Caller = Annotated[Access, Depends(_Credential(admin=False))]
"""Anyone with a credential of the scope ``memory``."""
DryRunCaller = Annotated[Access, Depends(_Credential(admin=False, parameters=("dry_run",)))]
"""The same, with a request that may be a dry run."""
BlobCaller = Annotated[Access, Depends(_Credential(admin=False, media_types=(), parameters=("agent_id",)))]
"""The same, with a body of any type for an agent that the query names."""
BodylessCaller = Annotated[Access, Depends(_Credential(admin=False, media_types=()))]
"""The same, with a request that has no body."""
Administrator = Annotated[Access, Depends(_Credential(admin=True))]
"""Anyone with a credential of the scope ``memory admin``."""
BodylessAdministrator = Annotated[Access, Depends(_Credential(admin=True, media_types=()))]
"""The same, with a request that has no body."""
NDJSON, OCTETS = LINES_TYPES = ("application/x-ndjson", "application/octet-stream")
"""The media types of lines. Some generated clients can send and read only the second."""


def octets_or(media_type: str, request: Request) -> str:
    """Return the media type to answer with: bytes for who names them and not this media type."""
    accepted = request.headers.get("accept", "").lower()
    return OCTETS if OCTETS in accepted and media_type not in accepted else media_type


Importer = Annotated[Access, Depends(_Credential(admin=True, media_types=LINES_TYPES, channel="import"))]
"""The same, with a body of lines."""
