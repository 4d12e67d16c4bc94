"""The double's own path, ``/_double``: look inside, arm faults, move on. It exists on loopback only."""

import ipaddress
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import orjson

from memory_gateway_double.delivery import Scope
from memory_gateway_double.faults import read_fault
from memory_gateway_double.models.language import Feature, read_steps
from memory_gateway_double.wire import Refusal, Reply, Request, json_reply

if TYPE_CHECKING:
    from memory_gateway_double.account import Double

PREFIX = "/_double"

_CHANGEABLE: Mapping[str, type] = {"time_scale": float, "rate_limit": bool, "atomic_batch": bool}


class Control:
    """Answers the control path.

    - ``GET /_double/``: options, calls, pending writes of each index, armed faults.
    - ``GET /_double/healthz``: 200 while it serves.
    - ``GET | PUT | DELETE /_double/faults``: list, add one, clear.
    - ``POST /_double/settle``: make every Vectorize write show.
    - ``GET | DELETE /_double/calls``: count, forget.
    - ``GET /_double/requests``: the last thousand, without credentials.
    - ``GET | PUT | DELETE /_double/reranker``: the scores of texts by a part of them, as ``{"part": 0.9}``.
    - ``GET | PUT | DELETE /_double/models``: the calls of language models; what becomes of the next ones, by stage, as
      ``{"extract": [{"reply": {...}}, {"status": 503}]}`` (``memory_gateway_double.models.language.Step``); be honest.
    - ``PUT /_double/models/refuse``: what they refuse from now on, as ``{"features": ["json_schema"]}``.
    - ``PUT /_double/options``: change ``time_scale``, ``rate_limit``, ``atomic_batch``.
    """

    def __init__(self, double: "Double") -> None:
        """Control this double."""
        self._double = double

    def owns(self, scope: Scope, request: Request) -> bool:
        """Whether the request is for the control path and comes from, and to, this machine."""
        if request.path != PREFIX and not request.path.startswith(f"{PREFIX}/"):
            return False
        return _is_loopback(scope.get("client")) and _is_loopback(scope.get("server"))

    async def answer(self, request: Request) -> Reply:
        """Do what is asked."""
        asked = f"{request.method} {request.path.removeprefix(PREFIX).strip('/')}"
        answers = {
            "GET ": self._state,
            "GET healthz": lambda: {"ok": True},
            "GET faults": self._double.faults.listed,
            "DELETE faults": self._double.faults.clear,
            "POST settle": self._double.settle,
            "GET calls": self._double.calls,
            "DELETE calls": self._double.reset_calls,
            "GET requests": self._requests,
            "GET reranker": lambda: self._double.rerankings.script,
            "DELETE reranker": self._double.rerankings.clear,
            "PUT reranker": lambda: self._script(_read(request)),
            "GET models": self._double.models.state,
            "DELETE models": self._double.models.clear,
            "PUT models": lambda: self._script_models(_read(request)),
            "PUT models/refuse": lambda: self._refuse(_read(request)),
            "PUT faults": lambda: self._add_fault(_read(request)),
            "PUT options": lambda: self._change(_read(request)),
        }
        answer = answers.get(asked)
        if answer is None:
            return json_reply(404, {"error": f"{asked} is not a thing to ask"})
        try:
            return json_reply(200, answer())  # type: ignore[no-untyped-call]
        except Refusal as refusal:
            return refusal.reply

    def _state(self) -> dict[str, Any]:
        options = self._double.options
        return {
            "options": {
                "account_id": options.account_id,
                "time_scale": options.time_scale,
                "rate_limit": options.rate_limit,
                "atomic_batch": options.atomic_batch,
                "visibility_seconds": options.visibility_seconds,
                "approximate_scores": options.approximate_scores,
                "seed": options.seed,
                "data_dir": None if options.data_dir is None else str(options.data_dir),
            },
            "calls": self._double.calls(),
            "pending": self._double.vectorize.pending(),
            "faults": self._double.faults.listed(),
        }

    def _requests(self) -> list[dict[str, Any]]:
        return [
            {
                "operation": request.operation,
                "method": request.method,
                "path": request.path,
                "query": request.query,
                "headers": {name: value for name, value in request.headers.items() if name != "authorization"},
                "body": request.body.decode("utf-8", "replace"),
            }
            for request in self._double.requests()
        ]

    def _add_fault(self, content: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            self._double.faults.add(read_fault(content))
        except ValueError as error:
            raise _wrong(str(error)) from error
        return self._double.faults.listed()

    def _script(self, content: dict[str, Any]) -> Mapping[str, float]:
        for part, score in content.items():
            if isinstance(score, bool) or not isinstance(score, int | float):
                raise _wrong(f"{part!r} cannot score {score!r}")
        self._double.rerankings.set(content)
        return self._double.rerankings.script

    def _script_models(self, content: dict[str, Any]) -> dict[str, Any]:
        try:
            scripts = read_steps(content)
        except ValueError as error:
            raise _wrong(str(error)) from error
        for stage, steps in scripts.items():
            self._double.models.script(stage, *steps)
        return self._double.models.state()

    def _refuse(self, content: dict[str, Any]) -> dict[str, Any]:
        features = content.get("features")
        if not isinstance(features, list) or not all(feature in get_args(Feature) for feature in features):
            raise _wrong(f"features must be of {', '.join(get_args(Feature))}")
        self._double.models.refuse(*features)
        return self._double.models.state()

    def _change(self, content: dict[str, Any]) -> dict[str, Any]:
        for name, value in content.items():
            kind = _CHANGEABLE.get(name)
            if kind is None or not isinstance(value, kind if kind is bool else (int, float)):
                raise _wrong(f"{name} cannot be changed to {value!r}")
        if (scale := content.get("time_scale")) is not None:
            if isinstance(scale, bool) or scale <= 0:
                raise _wrong("time_scale must be above 0")
            self._double.clock.scale = float(scale)
        if "rate_limit" in content:
            self._double.rate_limit.enforced = content["rate_limit"]
        if "atomic_batch" in content:
            self._double.d1.atomic_batch = content["atomic_batch"]
        return self._state()


def _read(request: Request) -> dict[str, Any]:
    try:
        content = request.json()
    except orjson.JSONDecodeError as error:
        raise _wrong(f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise _wrong("the body is not an object")
    return content


def _wrong(reason: str) -> Refusal:
    return Refusal(json_reply(400, {"error": reason}))


def _is_loopback(address: tuple[str, int] | None) -> bool:
    if address is None:
        return False
    try:
        return ipaddress.ip_address(address[0]).is_loopback
    except ValueError:
        return address[0] == "localhost"
