"""The clients: every operation of ``calls`` as a method, of one that returns the answer and of one to await it from."""

import asyncio
import json
import os
import ssl
import time
from collections.abc import Callable, Coroutine
from functools import cache
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args, overload

import httpx

from memory_gateway_client import calls, tools
from memory_gateway_client.exchange import Exchange, Pause, exchange
from memory_gateway_client.request import Call, is_visible
from memory_gateway_client.tiers import (
    access,
    assembly,
    blobs,
    consolidating,
    context,
    episodic,
    ingesting,
    procedural,
    undoing,
    working,
)
from memory_gateway_client.tiers import audit as audits
from memory_gateway_client.tiers import facts as semantic

P = ParamSpec("P")
T = TypeVar("T")
H = TypeVar("H", httpx.Client, httpx.AsyncClient)

_LOCAL = "http://127.0.0.1:8000"


class _Method(Generic[P, T]):
    """A function of ``calls`` as a method of both clients, with its parameters and its docstring."""

    def __init__(self, call: Callable[Concatenate[str | None, P], Call[T]]) -> None:
        """Note how the method looks: the client in place of its agent, the answer in place of the call."""
        self._call = call
        self.__doc__ = call.__doc__
        described = signature(call)
        (answer,) = get_args(described.return_annotation)
        client = Parameter("self", Parameter.POSITIONAL_ONLY)
        _, *said = described.parameters.values()
        self._signature = described.replace(parameters=[client, *said], return_annotation=answer)
        self._annotations = {each.name: each.annotation for each in said} | {"return": answer}

    def __set_name__(self, owner: type[object], name: str) -> None:
        """Be told the method's name."""
        self._name = name

    @overload
    def __get__(self, client: "MemoryClient", owner: type[object]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: "AsyncMemoryClient", owner: type[object]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[object]) -> Callable[..., Any]: ...
    def __get__(self, client: "_Client[Any] | None", owner: Any) -> Callable[..., Any]:
        """Return the method of this client or, of the class, its function."""
        method: FunctionType = owner._method_of(self._call)  # noqa: SLF001 - the clients are of this module
        method.__name__, method.__qualname__ = self._name, f"{owner.__name__}.{self._name}"
        method.__doc__ = self.__doc__
        method.__annotations__ = dict(self._annotations)
        method.__signature__ = self._signature  # type: ignore[attr-defined]  # read by inspect, of any function
        return method if client is None else method.__get__(client)


class _Client(Generic[H]):
    """What both clients have: the operations, and how they are set up."""

    store = _Method(calls.store)
    ingest = _Method(ingesting.ingest)
    ingestion = _Method(ingesting.ingestion)
    recall = _Method(calls.recall)
    explain = _Method(calls.explain)
    list_memories = _Method(calls.list_memories)
    get_memory = _Method(calls.get_memory)
    delete_memory = _Method(calls.delete_memory)
    usage = _Method(calls.usage)
    get_agent = _Method(calls.get_agent)
    set_agent = _Method(calls.set_agent)
    erase_agent = _Method(calls.erase_agent)
    erase_tenant = _Method(calls.erase_tenant)
    forget = _Method(calls.forget)
    unforget = _Method(calls.unforget)
    credentials = _Method(access.credentials)
    mint_credential = _Method(access.mint_credential)
    revoke_credential = _Method(access.revoke_credential)
    undo = _Method(calls.undo)
    undo_learned = _Method(undoing.undo_learned)
    consolidations = _Method(consolidating.consolidations)
    consolidation_dry_run = _Method(consolidating.consolidation_dry_run)
    undo_consolidation = _Method(consolidating.undo_consolidation)
    operation = _Method(calls.operation)
    set_working = _Method(working.set_working)
    get_working = _Method(working.get_working)
    list_working = _Method(working.list_working)
    delete_working = _Method(working.delete_working)
    set_turn_state = _Method(working.set_turn_state)
    get_turn_state = _Method(working.get_turn_state)
    append_run_log = _Method(working.append_run_log)
    run_log = _Method(working.run_log)
    append_messages = _Method(working.append_messages)
    window = _Method(working.window)
    put_workflow = _Method(procedural.put_workflow)
    get_workflow = _Method(procedural.get_workflow)
    delete_workflow = _Method(procedural.delete_workflow)
    workflow_versions = _Method(procedural.workflow_versions)
    workflow_version = _Method(procedural.workflow_version)
    restore_workflow = _Method(procedural.restore_workflow)
    workflows = _Method(procedural.workflows)
    select_workflow = _Method(procedural.select_workflow)
    record_outcome = _Method(procedural.record_outcome)
    acts = _Method(audits.acts)
    audit_run = _Method(audits.audit_run)
    replay_run = _Method(audits.replay_run)
    audit = _Method(audits.audit)
    call_tool = _Method(tools.call_tool)
    start_run = _Method(episodic.start_run)
    get_run = _Method(episodic.get_run)
    runs = _Method(episodic.runs)
    append_episode = _Method(episodic.append_episode)
    complete_run = _Method(episodic.complete_run)
    fail_run = _Method(episodic.fail_run)
    episodes = _Method(episodic.episodes)
    learn = _Method(semantic.learn)
    recall_facts = _Method(semantic.recall_facts)
    facts = _Method(semantic.facts)
    put_blob = _Method(blobs.put_blob)
    get_blob = _Method(blobs.get_blob)
    list_blobs = _Method(blobs.list_blobs)
    delete_blob = _Method(blobs.delete_blob)
    assemble_context = _Method(assembly.assemble_context)
    put_context = _Method(context.put_context)
    get_context = _Method(context.get_context)
    context_versions = _Method(context.context_versions)
    list_context = _Method(context.list_context)
    delete_context = _Method(context.delete_context)
    get_configuration = _Method(context.get_configuration)
    put_configuration = _Method(context.put_configuration)

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        agent_id: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        http: H | None = None,
    ) -> None:
        """Set up a client; nothing is sent yet.

        Args:
            base_url: Where the service is; else MEMORY_GATEWAY_URL, else http://127.0.0.1:8000.
            token: The credential; else MEMORY_GATEWAY_TOKEN. It may be missing where ``http`` brings its own.
            agent_id: The agent of every call that names no other; else MEMORY_GATEWAY_AGENT.
            timeout: Seconds that a call may take, all that is sent again included.
            retries: How often a request is sent again, at most, where that is safe.
            http: A client to send with, for proxies, certificates or tests. It is not closed, its base URL not used.

        Raises:
            ValueError: there is no token, or one of these cannot be used.
        """
        self.base_url = _checked_url(base_url or os.environ.get("MEMORY_GATEWAY_URL") or _LOCAL)
        self.agent_id = agent_id or os.environ.get("MEMORY_GATEWAY_AGENT") or None
        token = token or os.environ.get("MEMORY_GATEWAY_TOKEN")
        if not token and http is None:
            raise ValueError("No credential: say token=, or set MEMORY_GATEWAY_TOKEN.")
        if timeout <= 0 or retries < 0:
            raise ValueError("A call has some time, and no less than no retries.")
        # Kept in headers of httpx, which show no Authorization.
        self._headers = httpx.Headers({"Authorization": f"Bearer {_checked_token(token)}"} if token else {})
        self._timeout = timeout
        self._retries = retries
        self._owns_http = http is None
        self._http: H = self._open() if http is None else http

    def __repr__(self) -> str:
        """Show where it asks and for whom, never the credential."""
        return f"{type(self).__name__}({self.base_url!r}, agent_id={self.agent_id!r})"

    def _open(self) -> H:
        raise NotImplementedError

    def _exchange(self, call: Call[T]) -> Exchange[T]:
        headers = httpx.Headers({**self._headers, **call.headers})
        content = call.content
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(call.body, allow_nan=False).encode()

        def build(seconds: float) -> httpx.Request:
            url, params = f"{self.base_url}{call.path}", call.query or None
            return self._http.build_request(
                call.method, url, params=params, headers=headers, content=content, timeout=seconds
            )

        return exchange(call, build, timeout=self._timeout, retries=self._retries)


@cache
def _tls_context() -> ssl.SSLContext:
    """Load the trusted certificates once a process: it takes 40 ms, more than a call does."""
    return httpx.create_ssl_context()


class MemoryClient(_Client[httpx.Client]):
    """A client of the service whose methods return the answer. Several threads may share it."""

    def _open(self) -> httpx.Client:
        return httpx.Client(verify=_tls_context())

    @staticmethod
    def _method_of(call: Callable[Concatenate[str | None, P], Call[T]]) -> Callable[..., T]:
        def method(self: MemoryClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return self._run(call(self.agent_id, *args, **kwargs))

        return method

    def _run(self, call: Call[T]) -> T:
        running = self._exchange(call)
        try:
            step = next(running)
            while True:
                if isinstance(step, Pause):
                    self._sleep(step.seconds)
                    step = next(running)
                    continue
                try:
                    response = self._http.send(step)
                except httpx.RequestError as error:
                    step = running.throw(error)
                else:
                    step = running.send(response)
        except StopIteration as ended:
            answer: T = ended.value
            return answer

    _sleep = staticmethod(time.sleep)

    def close(self) -> None:
        """Close the connections, unless they are of an ``http`` that was given."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class AsyncMemoryClient(_Client[httpx.AsyncClient]):
    """A client of the service whose methods are awaited, on asyncio."""

    def _open(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(verify=_tls_context())

    @staticmethod
    def _method_of(
        call: Callable[Concatenate[str | None, P], Call[T]],
    ) -> Callable[..., Coroutine[Any, Any, T]]:
        async def method(self: AsyncMemoryClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self._run(call(self.agent_id, *args, **kwargs))

        return method

    async def _run(self, call: Call[T]) -> T:
        running = self._exchange(call)
        try:
            step = next(running)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = next(running)
                    continue
                try:
                    response = await self._http.send(step)
                except httpx.RequestError as error:
                    step = running.throw(error)
                else:
                    step = running.send(response)
        except StopIteration as ended:
            answer: T = ended.value
            return answer

    _sleep = staticmethod(asyncio.sleep)

    async def aclose(self) -> None:
        """Close the connections, unless they are of an ``http`` that was given."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


def _checked_url(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in {"http", "https"} or not parts.host or parts.query or parts.fragment:
        raise ValueError("The base URL is not one of a service, such as https://memory.example.com.")
    if parts.userinfo:
        raise ValueError("The base URL holds no user and no password: the credential is token=.")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    # httpx would show a header that it cannot send.
    if not is_visible(token):
        raise ValueError("The token is not a credential: it has other characters than visible ASCII.")
    return token
