"""Requests that are refused before anything is done for them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.domain.errors import Overloaded
from app.interfaces.load_shedding import LoadShedding

Read = Callable[[], Sequence[str]]


def request(path: str, *headers: tuple[bytes, bytes], method: str = "POST") -> Any:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": list(headers)}


class Door:
    """An admission that lets nobody in whose credential is ``loud``."""

    def __init__(self) -> None:
        self.now = 0.0
        self.counted: list[tuple[str, str, int]] = []
        self.admission = LoadShedding(
            self.check, lambda *given: self.counted.append(given[:3]), {"/healthz"}, lambda: self.now
        )

    def check(self, read: Read) -> None:
        if read() == ["loud"]:
            raise Overloaded("Too much.")


def parts(answer: bytes | None) -> tuple[str, dict[str, str], Any]:
    assert answer is not None
    head, _, body = answer.decode().partition("\r\n\r\n")
    status, *lines = head.split("\r\n")
    headers = dict(line.split(": ") for line in lines)
    assert int(headers["content-length"]) == len(body) or not body
    return status, headers, json.loads(body) if body else None


LOUD = (b"authorization", b"loud")


def test_a_refusal_tells_the_worker_in_front_what_it_is_only_where_that_is_set() -> None:
    door = Door()
    _, headers, _ = parts(door.admission.refusal(request("/store", LOUD)))
    assert "x-memory-gateway-call" not in headers
    telling = LoadShedding(door.check, lambda *_: None, reports=True)
    _, headers, _ = parts(telling.refusal(request("/store", LOUD)))
    told = json.loads(headers["x-memory-gateway-call"])
    assert (told["tenant"], told["method"], told["route"], told["outcome"]) == ("", "POST", "", "overloaded")


def test_a_refusal_is_a_whole_problem_with_the_time_to_wait_and_the_callers_request_id() -> None:
    door = Door()
    status, headers, body = parts(door.admission.refusal(request("/store", LOUD, (b"x-request-id", b"mine"))))
    assert status == "HTTP/1.1 503 Service Unavailable"
    assert headers["content-type"] == "application/problem+json"
    assert headers["retry-after"] == str(Overloaded.retry_after)
    assert headers["x-request-id"] == body["request_id"] == "mine"
    assert body["code"] == "overloaded"
    assert door.counted == [("POST", "", 503)]


def test_a_refusal_below_cloudflares_paths_has_their_form() -> None:
    answer = Door().admission.refusal(request("/client/v4/accounts/a/agent-memory/namespaces", LOUD))
    assert parts(answer)[2]["success"] is False


def test_the_refusal_of_a_head_request_has_no_body() -> None:
    assert parts(Door().admission.refusal(request("/memories", LOUD, method="HEAD")))[2] is None


@pytest.mark.parametrize("given", [request("/healthz", LOUD), request("/store", (b"authorization", b"quiet"))])
def test_a_path_that_is_always_answered_and_a_tenant_that_need_not_wait_are_let_in(given: Any) -> None:
    door = Door()
    assert door.admission.refusal(given) is None
    assert not door.counted


def test_the_log_has_one_line_a_second_that_tells_how_many_were_refused() -> None:
    door = Door()
    with capture_logs() as lines:
        for _ in range(24):
            door.admission.refusal(request("/store", LOUD))
            door.now += 0.125
    assert [line["requests"] for line in lines] == [1, 8, 8]
    assert {line["event"] for line in lines} == {"overloaded"}
