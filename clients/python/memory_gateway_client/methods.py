"""How a function that makes a call becomes a method of both clients: of one that waits and of one that is awaited."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

from memory_gateway_client.request import Call, Line

P = ParamSpec("P")
T = TypeVar("T")


class Waiting:
    """A client whose methods return the answer."""

    agent_id: str | None

    def _run(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _stream(self, call: Call[Line]) -> Iterator[Line]:
        raise NotImplementedError


class Awaiting:
    """A client whose methods are awaited."""

    agent_id: str | None

    async def _run(self, call: Call[T]) -> T:
        raise NotImplementedError

    def _stream(self, call: Call[Line]) -> AsyncIterator[Line]:
        raise NotImplementedError


class _Described(Generic[P, T]):
    """A function that makes a call, and how its method looks."""

    def __init__(self, call: Callable[Concatenate[str | None, P], Call[T]]) -> None:
        """Put the client in place of its agent, the answer in place of the call."""
        self._call = call
        self.__doc__ = call.__doc__
        described = signature(call)
        client = Parameter("self", Parameter.POSITIONAL_ONLY)
        _, *said = described.parameters.values()
        (answer,) = get_args(described.return_annotation)
        self._signature = Signature([client, *said], return_annotation=self._answer(answer))
        self._annotations = {each.name: each.annotation for each in said} | {
            "return": self._signature.return_annotation
        }

    def __set_name__(self, owner: type[object], name: str) -> None:
        """Be told the method's name; a further name for it changes nothing."""
        self._name = getattr(self, "_name", name)

    def _answer(self, answer: Any) -> Any:  # noqa: ANN401 - a type
        return answer

    def _looking(self, method: Callable[..., Any], owner: type[object]) -> FunctionType:
        assert isinstance(method, FunctionType)  # noqa: S101 - as it was written below
        method.__name__, method.__qualname__ = self._name, f"{owner.__name__}.{self._name}"
        method.__doc__ = self.__doc__
        method.__annotations__ = dict(self._annotations)
        method.__signature__ = self._signature  # type: ignore[attr-defined]  # read by inspect, of any function
        return method


class Method(_Described[P, T]):
    """A function as a method of both clients, with its parameters and its docstring."""

    @overload
    def __get__(self, client: Waiting, owner: type[object]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type[object]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[object]) -> Callable[..., Any]: ...
    def __get__(self, client: Waiting | Awaiting | None, owner: type[object]) -> Callable[..., Any]:
        """Return the method of this client or, of the class, its function."""
        call = self._call

        def waiting(self: Waiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return self._run(call(self.agent_id, *args, **kwargs))

        async def awaiting(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self._run(call(self.agent_id, *args, **kwargs))

        method = self._looking(awaiting if issubclass(owner, Awaiting) else waiting, owner)
        return method if client is None else method.__get__(client)


class Streamed(_Described[P, Line]):
    """A function as a method of both clients that gives the lines of an answer, each as it comes."""

    @overload
    def __get__(self, client: Waiting, owner: type[object]) -> Callable[P, Iterator[Line]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: type[object]) -> Callable[P, AsyncIterator[Line]]: ...
    @overload
    def __get__(self, client: None, owner: type[object]) -> Callable[..., Any]: ...
    def __get__(self, client: Waiting | Awaiting | None, owner: type[object]) -> Callable[..., Any]:
        """Return the method of this client or, of the class, its function."""
        call = self._call

        def streaming(self: Waiting | Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> Any:  # noqa: ANN401 - either
            return self._stream(call(self.agent_id, *args, **kwargs))

        method = self._looking(streaming, owner)
        return method if client is None else method.__get__(client)

    def _answer(self, answer: Any) -> Any:  # noqa: ANN401 - a type
        return Iterator[answer] | AsyncIterator[answer]
