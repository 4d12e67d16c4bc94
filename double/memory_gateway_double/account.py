"""The double itself: an account's state, and the ASGI application that serves it."""

import asyncio
import re
import time
import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from memory_gateway_double.clock import Clock
from memory_gateway_double.control import Control
from memory_gateway_double.d1.rest import D1
from memory_gateway_double.delivery import (
    ClientGone,
    Receive,
    Scope,
    Send,
    cut,
    receive_request,
    send_reply,
    send_struck,
    wait_for_disconnect,
)
from memory_gateway_double.fault_replies import fault_reply
from memory_gateway_double.faults import Fault, Faults
from memory_gateway_double.journal import Journal
from memory_gateway_double.models.language import LanguageModels
from memory_gateway_double.models.openai import PREFIX as OPENAI
from memory_gateway_double.models.openai import OpenAI
from memory_gateway_double.models.rerank import Rerankings
from memory_gateway_double.models.rerank_endpoint import PREFIX as RERANKER
from memory_gateway_double.models.rerank_endpoint import RerankEndpoint
from memory_gateway_double.models.workers_ai import WorkersAI
from memory_gateway_double.r2 import PREFIX as R2_API
from memory_gateway_double.r2 import R2
from memory_gateway_double.r2_buckets import R2Buckets
from memory_gateway_double.rate_limit import RateLimit
from memory_gateway_double.recorder import RecordedRequest, Recorder
from memory_gateway_double.rights import Rights
from memory_gateway_double.routing import Found, Router
from memory_gateway_double.users import Users
from memory_gateway_double.v4 import AUTHENTICATION_ERROR, failure, not_routed, refused
from memory_gateway_double.vectorize.index import Delays
from memory_gateway_double.vectorize.rest import Vectorize
from memory_gateway_double.wire import ConnectionCut, Refusal, Reply, Request
from memory_gateway_double.workers import Workers

CLOUDFLARE = "/client/v4"

_NOT_YOUR_ACCOUNT = 7403
_METHOD_NOT_AVAILABLE = 7001
_ACCOUNT_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class DoubleOptions:
    """What a double is made with.

    ``time_scale``: how many seconds its clocks count in a real one (rate window, block, visibility,
    ``Date``). ``visibility_seconds``: how long an indexing batch takes, by its clock; (0, 0) makes every
    write show at once. ``metadata_index_seconds``: how long a metadata index that is listed takes until it holds the
    vectors that are processed from then on; None: as long as a batch. ``approximate_scores``: scores are off by at
    most 0.005, unless values are asked for.
    ``limited_tokens``: further API tokens, with the permissions that each has, such as ``D1 Write``; ``api_token``
    may do all. ``workers_subdomain``: the account's below workers.dev; empty where it has none.
    ``data_dir``: where it keeps its data; None keeps it in memory.
    """

    account_id: str = "0" * 32
    api_token: str = "double-token"  # noqa: S105 - opens nothing but the double
    limited_tokens: Mapping[str, Collection[str]] = field(default_factory=dict)
    openai_api_key: str = "double-key"
    reranker_api_key: str = "double-reranker-key"
    r2_bucket: str = "double-blobs"
    r2_access_key_id: str = "double-access-key"
    r2_secret_access_key: str = "double-secret-key"  # noqa: S105 - opens nothing but the double
    workers_subdomain: str = "double"
    time_scale: float = 1.0
    rate_limit: bool = True
    atomic_batch: bool = True
    visibility_seconds: tuple[float, float] = (5.0, 30.0)
    metadata_index_seconds: tuple[float, float] | None = None
    approximate_scores: bool = True
    seed: int = 0
    data_dir: Path | None = None


class Double:
    """A stand-in Cloudflare account with a bucket, OpenAI and a reranker. Its methods are safe from any thread."""

    def __init__(self, options: DoubleOptions, *, control: bool = True) -> None:
        """Open the data; ``control`` says whether the control path exists, which is for loopback only."""
        self._options = options
        self.clock = Clock(options.time_scale)
        self.faults = Faults(options.seed)
        self.stopping = asyncio.Event()
        self.rate_limit = RateLimit(self.clock, enforced=options.rate_limit)
        self.recorder = Recorder()
        self._journal = Journal(options.data_dir)
        self.d1 = D1(self._journal, options.data_dir, self.clock, atomic_batch=options.atomic_batch)
        self.vectorize = Vectorize(
            self._journal,
            self.clock,
            Delays(options.visibility_seconds, options.metadata_index_seconds or options.visibility_seconds),
            options.seed,
            approximate=options.approximate_scores,
        )
        self._rights = Rights(options.api_token, options.limited_tokens)
        keys = {options.r2_access_key_id, *self._rights.token_ids}
        self.r2 = R2(self._journal, self.clock, options.r2_bucket, keys)
        self.workers = Workers(self._journal, self.clock, options.workers_subdomain)
        self.rerankings = Rerankings()
        self.models = LanguageModels()
        self._openai = OpenAI(options.openai_api_key, self.clock, self.models)
        self._rerank = RerankEndpoint(options.reranker_api_key, self.rerankings)
        self._control = Control(self) if control else None
        self._router = self._routes()

    @property
    def options(self) -> DoubleOptions:
        """The options as they are by now: some can be changed while it runs."""
        return replace(
            self._options,
            time_scale=self.clock.scale,
            rate_limit=self.rate_limit.enforced,
            atomic_batch=self.d1.atomic_batch,
        )

    def calls(self) -> dict[str, int]:
        """Return how often each operation was called, refused calls included."""
        return self.recorder.calls()

    def requests(self) -> list[RecordedRequest]:
        """Return the last thousand requests, the oldest first."""
        return self.recorder.requests()

    def reset_calls(self) -> None:
        """Forget the calls and the requests."""
        self.recorder.reset()

    def settle(self) -> None:
        """Make every acknowledged Vectorize write show now."""
        self.vectorize.settle()

    def create_database(self, name: str, image: bytes | None = None, *, jurisdiction: str | None = None) -> str:
        """Create a D1 database, empty or as a copy of a SQLite file's bytes, and return its id, without a call."""
        return self.d1.create(name, image, jurisdiction=jurisdiction)

    def create_index(self, name: str, dimensions: int, metadata_indexes: Mapping[str, str] | None = None) -> None:
        """Create a Vectorize index with metadata indexes that work at once, without a call."""
        index = self.vectorize.create(name, dimensions)
        for key, kind in (metadata_indexes or {}).items():
            self.vectorize.declare(index, key, kind)
        index.settle()

    def close(self) -> None:
        """Close the files."""
        self.d1.close()
        self._journal.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI has it."""
        if scope["type"] != "http":
            raise RuntimeError(f"the double does not serve {scope['type']}")
        arrived = time.monotonic()
        try:
            request = await receive_request(scope, receive)
        except ClientGone:
            return
        if self._control is not None and self._control.owns(scope, request):
            await send_reply(send, await self._control.answer(request), {"date": self.clock.http_date()})
            return
        await self._serve(request, arrived, scope, receive, send)

    async def _serve(self, request: Request, arrived: float, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._router.find(request.method, request.path)
        if found is not None:
            request.operation, request.parameters = found.route.operation, found.parameters
        self.recorder.record(request)
        plan = self.faults.plan(request.operation)
        fault = plan.fault
        if fault is not None and fault.kind == "hang":
            await wait_for_disconnect(receive, self.stopping)
        reply = None
        if fault is None or fault.kind not in {"hang", "cut"}:
            with suppress(ConnectionCut):
                reply = await self._answer(request, found, fault)
        if plan.delay_seconds:
            await self._pause(arrived + plan.delay_seconds - time.monotonic())
        if reply is None:
            await cut(scope, receive)
            return
        dressed = replace(reply, headers={**self._headers(request), **reply.headers})
        await send_struck(scope, receive, send, dressed, fault)

    async def _answer(self, request: Request, found: Found | None, fault: Fault | None) -> Reply:
        try:
            self._admit(request)
            if fault is not None and fault.kind == "status":
                return fault_reply(request.operation, fault)
            if fault is not None and fault.kind == "stop_batch":
                request.stop_batch_after = fault.stop_batch_after or 0
            request.shorten_vectors = fault is not None and fault.kind == "wrong_dimensions"
            request.wrong_indexes = fault is not None and fault.kind == "wrong_indexes"
            if found is None:
                raise self._lost(request)
            return await found.route.handler(request)
        except Refusal as refusal:
            return refusal.reply

    def _admit(self, request: Request) -> None:
        """Let a call in: Cloudflare's by its token, the limit and its account, all others by a key of theirs."""
        if request.path.startswith(f"{OPENAI}/"):
            self._openai.admit(request)
            return
        if request.path.startswith(f"{RERANKER}/"):
            self._rerank.admit(request)
            return
        if request.path.startswith(f"{R2_API}/"):
            self.r2.admit(request)
            return
        if not request.path.startswith(f"{CLOUDFLARE}/"):
            raise not_routed(request.path)
        token = self._rights.token(request)
        if token is None:
            raise refused(401, AUTHENTICATION_ERROR, "Authentication error")
        self.rate_limit.take()
        if not self._rights.allows(token, request):
            raise refused(403, AUTHENTICATION_ERROR, "Authentication error")
        account = request.parameters.get("account")
        if account is None or account == self._options.account_id:
            return
        if not _ACCOUNT_ID.fullmatch(account):
            raise not_routed(request.path)
        if request.operation.startswith("d1."):
            message = "The given account is not valid or is not authorized to access this service"
            raise refused(403, _NOT_YOUR_ACCOUNT, message)
        raise refused(403, AUTHENTICATION_ERROR, "Authentication error")

    def _lost(self, request: Request) -> Refusal:
        if self._router.methods(request.path):
            message = f"Method {request.method} not available for that URI."
            return Refusal(failure(405, (_METHOD_NOT_AVAILABLE, message)))
        return not_routed(request.path)

    def _headers(self, request: Request) -> Mapping[str, str]:
        told = {"date": self.clock.http_date(), "server": "cloudflare", "cf-ray": f"{uuid.uuid4().hex[:16]}-DBL"}
        if request.path.startswith(f"{OPENAI}/"):
            return {**told, **self._openai.headers()}
        if request.path.startswith((f"{RERANKER}/", f"{R2_API}/")):
            return told
        return {**told, **self.rate_limit.headers()}

    async def _pause(self, seconds: float) -> None:
        """Wait in real seconds, or until the double stops."""
        try:
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        except TimeoutError:
            return

    def _routes(self) -> Router:
        account = f"{CLOUDFLARE}/accounts/{{account}}"
        users = Users(self._options.account_id)
        return Router(
            [
                *self.d1.routes(account),
                *self.vectorize.routes(account),
                *WorkersAI(self.clock, self.rerankings, self.models).routes(account),
                *self._openai.routes(),
                *self._rerank.routes(),
                *self.r2.routes(),
                *R2Buckets(self.r2, self.clock).routes(account),
                *self.workers.routes(account),
                *users.routes(CLOUDFLARE, account),
            ]
        )
