"""What can be made to go wrong, and the path that makes it."""

import threading
import time
from contextlib import suppress
from typing import Any

import httpx
import pytest

from memory_gateway_double.account import Double, DoubleOptions
from memory_gateway_double.faults import Fault, Faults, read_fault
from memory_gateway_double.models.language import Step
from memory_gateway_double.server import running
from tests.double.conftest import Client, Sql, VectorIndex, code, unit, vector


@pytest.mark.parametrize(
    ("operation", "status", "expected"),
    [
        ("d1.query", 400, 7500),
        ("d1.query", 404, 7404),
        ("d1.query", 500, 7500),
        ("d1.query", 403, 10000),
        ("d1.*", 429, 971),
        ("*", 418, 10001),
    ],
)
def test_a_status_comes_with_the_body_of_the_real_one(sql: Sql, operation: str, status: int, expected: int) -> None:
    sql.client.handle.double.faults.add(Fault(operation, status=status))
    answer = sql.ask("CREATE TABLE t (a)")
    assert code(answer) == (status, expected)
    assert ("retry-after" in answer.headers) == (status == 429)
    assert sql.rows("SELECT * FROM sqlite_schema") == []


def test_what_the_edge_answers_has_no_envelope(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault(status=504))
    answer = sql.ask("SELECT 1")
    assert (answer.status_code, answer.text) == (504, "error code: 504")


def test_a_status_may_have_a_body_and_headers_of_its_own(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault(status=429, body={"code": 1}, headers={"Retry-After": "7"}))
    answer = sql.ask("SELECT 1")
    assert (answer.json(), answer.headers["retry-after"]) == ({"code": 1}, "7")


@pytest.mark.parametrize(
    ("status", "expected"), [(401, "invalid_api_key"), (429, "rate_limit_exceeded"), (503, "overloaded")]
)
def test_openai_fails_in_its_own_words(client: Client, status: int, expected: str) -> None:
    client.handle.double.faults.add(Fault("openai.*", status=status))
    answer = client.openai({"model": "text-embedding-3-small", "input": "a"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, expected)


def test_workers_ai_is_out_of_capacity_at_429(client: Client) -> None:
    client.handle.double.faults.add(Fault("ai.run", status=429))
    assert code(client.post("/ai/run/@cf/baai/bge-m3", {"text": "a"})) == (429, 3040)


def test_a_fault_strikes_so_many_times(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", status=500, times=2))
    assert [sql.ask("SELECT 1").status_code for _ in range(4)] == [500, 500, 200, 200]


def test_a_fault_strikes_only_its_operation(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.list", status=500, times=None))
    assert sql.ask("SELECT 1").status_code == 200
    assert sql.client.get("/d1/database").status_code == 500


def test_a_share_of_the_calls_is_struck_and_always_the_same() -> None:
    def struck() -> list[bool]:
        faults = Faults(seed=3)
        faults.add(Fault(status=500, share=0.3))
        return [faults.plan("d1.query").fault is not None for _ in range(500)]

    assert struck() == struck()
    assert 110 < sum(struck()) < 190


def test_delays_add_up_beside_another_fault() -> None:
    faults = Faults()
    faults.add(Fault(delay_seconds=0.5, times=None))
    faults.add(Fault("d1.*", delay_seconds=0.25, times=None))
    faults.add(Fault(status=500))
    faults.add(Fault(kind="cut"))
    assert [(plan.delay_seconds, plan.fault and plan.fault.kind) for plan in map(faults.plan, ["d1.a"] * 3)] == [
        (0.75, "status"),
        (0.75, "cut"),
        (0.75, None),
    ]


def test_a_delay_answers_as_usual_but_later(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault(delay_seconds=0.1, times=None))
    for _ in range(2):
        started = time.monotonic()
        assert sql.rows("SELECT 1 AS one") == [{"one": 1}]
        assert time.monotonic() - started >= 0.1


def test_a_delay_counts_from_the_arrival_of_a_call_so_that_its_own_work_is_within_it(client: Client) -> None:
    double = client.handle.double
    double.faults.add(Fault("openai.chat", delay_seconds=1.5))
    double.models.script("*", Step("yes", delay_seconds=1.5))
    started = time.monotonic()
    body = {"model": "any", "messages": [{"role": "user", "content": "well?"}]}
    assert client.openai(body, "chat/completions").status_code == 200
    assert 1.5 <= time.monotonic() - started < 3.0


def test_what_a_delayed_call_does_is_done_before_its_answer_comes(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", delay_seconds=60))
    with pytest.raises(httpx.ReadTimeout):
        sql.client.call(
            "POST", f"/d1/database/{sql.uuid}/query", json={"sql": "CREATE TABLE t (a)", "params": []}, timeout=0.1
        )
    assert sql.rows("SELECT name FROM sqlite_schema") == [{"name": "t"}]


def test_a_cut_call_did_nothing(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", kind="cut"))
    with pytest.raises(httpx.TransportError):
        sql.ask("CREATE TABLE t (a)")
    assert sql.rows("SELECT name FROM sqlite_schema") == []


@pytest.mark.parametrize("kind", ["after_effect_cut", "half_body"])
def test_a_call_without_an_answer_may_have_been_done(sql: Sql, kind: Any) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", kind=kind))
    with pytest.raises(httpx.RemoteProtocolError):
        sql.ask("CREATE TABLE t (a)")
    assert sql.rows("SELECT name FROM sqlite_schema") == [{"name": "t"}]


def test_a_body_may_break_off(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", kind="invalid_json"))
    answer = sql.ask("SELECT 1")
    assert answer.status_code == 200
    with pytest.raises(ValueError, match="char"):
        answer.json()


def test_a_call_may_hang_until_the_client_goes(sql: Sql) -> None:
    sql.client.handle.double.faults.add(Fault("d1.query", kind="hang"))
    with pytest.raises(httpx.ReadTimeout):
        sql.client.call("POST", f"/d1/database/{sql.uuid}/query", json={"sql": "SELECT 1"}, timeout=0.1)
    assert sql.rows("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize("fault", [Fault(kind="hang"), Fault(delay_seconds=60)])
def test_a_call_that_waits_does_not_keep_the_double_from_stopping(fault: Fault) -> None:
    def ask(client: Client) -> None:
        with suppress(httpx.TransportError):
            client.get("/d1/database")

    with httpx.Client(timeout=10) as http:
        with running(DoubleOptions()) as handle:
            handle.double.faults.add(fault)
            asking = threading.Thread(target=ask, args=(Client(handle, http),))
            asking.start()
            while not handle.double.calls():
                time.sleep(0.01)
            started = time.monotonic()
        asking.join(5)
        assert not asking.is_alive()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_batch_may_stop_half_way_with_what_was_done(sql: Sql, after: int) -> None:
    sql.ask("CREATE TABLE t (a)")
    sql.client.handle.double.faults.add(Fault("d1.query", stop_batch_after=after))
    with pytest.raises(httpx.TransportError):
        sql.batch(*[f"INSERT INTO t VALUES ({n})" for n in range(3)])
    assert sql.rows("SELECT count(*) AS n FROM t") == [{"n": after}]


def test_embeddings_may_come_one_dimension_short(client: Client) -> None:
    client.handle.double.faults.add(Fault(kind="wrong_dimensions", times=2))
    openai = client.openai({"model": "text-embedding-3-small", "input": "a"}).json()["data"][0]["embedding"]
    workers = client.post("/ai/run/@cf/baai/bge-m3", {"text": "a"}).json()["result"]
    assert (len(openai), workers["shape"], len(workers["data"][0])) == (1535, [1, 1023], 1023)


def test_a_fault_on_vectorize_keeps_the_write_out(index: VectorIndex) -> None:
    index.client.handle.double.faults.add(Fault("vectorize.*", status=503))
    assert index.write([vector("a")]).status_code == 503
    assert index.found() == set()


def test_calls_and_requests_are_remembered(sql: Sql) -> None:
    double = sql.client.handle.double
    sql.client.handle.double.faults.add(Fault("d1.query", status=500))
    sql.ask("SELECT 1")
    sql.ask("SELECT 2")
    sql.client.get("/d1/database?name=x")
    assert double.calls() == {"d1.query": 2, "d1.list": 1}
    last = double.requests()[-1]
    assert (last.operation, last.method, last.query, last.body) == ("d1.list", "GET", {"name": "x"}, b"")
    assert last.headers["authorization"] == "Bearer double-token"
    assert b"SELECT 2" in double.requests()[-2].body
    double.reset_calls()
    assert (double.calls(), double.requests()) == ({}, [])


def test_faults_are_added_listed_and_cleared_over_http(sql: Sql) -> None:
    added = sql.client.control("PUT", "faults", {"operation": "d1.query", "status": 500, "times": None})
    assert added.status_code == 200
    assert sql.ask("SELECT 1").status_code == 500
    (listed,) = sql.client.control("GET", "faults").json()
    assert (listed["operation"], listed["status"], listed["happened"]) == ("d1.query", 500, 1)
    assert sql.client.control("DELETE", "faults").status_code == 200
    assert sql.ask("SELECT 1").status_code == 200


@pytest.mark.parametrize(
    "fault", [{}, {"status": 500, "times": 0}, {"kind": "fire"}, {"share": 2, "status": 500}, {"smell": 1}, []]
)
def test_what_is_no_fault_is_refused(client: Client, fault: Any) -> None:
    assert client.control("PUT", "faults", fault).status_code == 400
    if isinstance(fault, dict):
        with pytest.raises(ValueError, match=r".+"):
            read_fault(fault)


def test_the_state_calls_and_requests_can_be_asked_over_http(sql: Sql) -> None:
    sql.ask("SELECT 1")
    state = sql.client.control("GET", "").json()
    assert state["calls"] == sql.client.control("GET", "calls").json() == {"d1.query": 1}
    assert (state["options"]["rate_limit"], state["options"]["visibility_seconds"]) == (False, [0, 0])
    (request,) = sql.client.control("GET", "requests").json()
    assert request["operation"] == "d1.query"
    assert "authorization" not in request["headers"]
    assert sql.client.control("DELETE", "calls").status_code == 200
    assert sql.client.handle.double.calls() == {}
    assert sql.client.control("GET", "healthz").json() == {"ok": True}
    assert sql.client.control("GET", "nothing").status_code == 404


@pytest.mark.parametrize("change", [{"seed": 1}, {"time_scale": 0}, {"time_scale": True}, {"rate_limit": 1}, "x"])
def test_an_option_that_cannot_be_changed_is_refused(client: Client, change: Any) -> None:
    assert client.control("PUT", "options", change).status_code == 400


async def test_the_control_path_exists_on_loopback_only() -> None:
    async def status(double: Double, client: str, server: str) -> int:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b""}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/_double/", "query_string": b"", "headers": []}
        await double({**scope, "client": (client, 1), "server": (server, 1)}, receive, send)
        return int(sent[0]["status"])

    double = Double(DoubleOptions())
    bound_wide = Double(DoubleOptions(), control=False)
    try:
        assert await status(double, "127.0.0.1", "127.0.0.1") == 200
        assert await status(double, "192.0.2.1", "127.0.0.1") == 404
        assert await status(double, "127.0.0.1", "192.0.2.1") == 404
        assert await status(bound_wide, "127.0.0.1", "127.0.0.1") == 404
    finally:
        double.close()
        bound_wide.close()


def test_a_query_by_vector_survives_other_faults(index: VectorIndex) -> None:
    index.write([vector("a")])
    index.client.handle.double.faults.add(Fault("vectorize.query", status=500))
    assert index.ask(vector=unit(0)).status_code == 500
    assert index.found() == {"a"}
