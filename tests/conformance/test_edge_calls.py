"""The data points of Analytics Engine: one for each call by either entry, and nothing of what the call says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.domain.request_note import RequestNote
from app.interfaces.http.call_report import HEADER, call_report
from tests.conformance.edge import ACCOUNT_ID, SECRET, Edge
from tests.deploy.test_analytics import BLOBS, DOUBLES

NOTE = RequestNote("acme", embedding_tokens=7, embedded_characters=30, model_tokens=11)
PATIENT = 60
"""Seconds: a container of which no port listens is asked for 20 s."""
ID = "01K5ZT3V0W8Q2N4R6S8T0V2X4Y"


class Counted:
    """Asks one entry, and reads the points that it wrote."""

    def __init__(self, edge: Edge, path: str, **headers: str) -> None:
        self.edge = edge
        self.http = httpx.Client(base_url=f"{edge.origin}/{path}", timeout=30, verify=False)
        self.http.headers.update({"x-test-dataset": "recording", **headers})
        self.points()

    def points(self) -> list[dict[str, Any]]:
        """Return what was written since this was last asked, by the columns' names, without the time."""
        told = []
        for point in httpx.get(f"{self.edge.origin}/points/", timeout=30, verify=False).json():
            (tenant,) = point["indexes"]
            blobs = dict(zip(BLOBS, point["blobs"], strict=True))
            doubles = dict(zip(DOUBLES, point["doubles"], strict=True))
            assert 0 <= doubles.pop("ms") < PATIENT * 1000
            told.append({"tenant": tenant, **blobs, **doubles})
        return told


@pytest.fixture(scope="module", autouse=True)
def container(edge: Edge) -> dict[str, Any]:
    """Start the Container of a Worker that has a dataset; return how it was started."""
    httpx.post(f"{edge.origin}/public/recall", headers={"x-test-dataset": "recording"}, timeout=30, verify=False)
    return edge.started("counted")


@pytest.fixture
def public(edge: Edge) -> Iterator[Counted]:
    """The Worker in front of the service's Container."""
    counted = Counted(edge, "public")
    yield counted
    counted.http.close()


@pytest.fixture
def wire(edge: Edge) -> Iterator[Counted]:
    """The Worker that a service elsewhere calls."""
    counted = Counted(
        edge, f"worker/{edge.own.number}/client/v4/accounts/{ACCOUNT_ID}", authorization=f"Bearer {SECRET}"
    )
    yield counted
    counted.http.close()


def reported(note: RequestNote, method: str, route: str, status: int = 200) -> dict[str, str]:
    """Return the headers that make the Container answer so, as the service does."""
    return {"x-test-report": call_report(note, method, route), "x-test-status": str(status)}


def test_a_call_is_one_point_of_what_the_service_tells_which_reaches_no_caller(public: Counted) -> None:
    headers = reported(NOTE, "DELETE", "/memories/{memory_id}")
    answer = public.http.delete(f"/memories/{ID}?agent_id=bot", headers=headers)
    assert answer.json() == {"port": 8000, "path": f"/memories/{ID}"}
    assert HEADER not in answer.headers
    assert answer.headers["x-request-id"] == "r"
    (point,) = public.points()
    assert point == {
        "tenant": "acme",
        "method": "DELETE",
        "route": "/memories/{memory_id}",
        "tool": "",
        "outcome": "ok",
        "status": "200",
        "embedding_tokens": 7,
        "embedded_characters": 30,
        "model_tokens": 11,
    }


@pytest.mark.parametrize(
    ("note", "status", "told"),
    [
        (replace(NOTE, tool="recall", degraded=True), 200, ("recall", "degraded", "200")),
        (replace(NOTE, code="quota_exceeded"), 429, ("", "quota_exceeded", "429")),
        (replace(NOTE, tool="store", code="erasing"), 200, ("store", "erasing", "200")),
    ],
)
def test_a_point_tells_the_tool_and_the_outcome(
    public: Counted, note: RequestNote, status: int, told: tuple[str, str, str]
) -> None:
    assert public.http.post("/mcp", headers=reported(note, "POST", "/mcp", status)).status_code == status
    (point,) = public.points()
    assert (point["tool"], point["outcome"], point["status"]) == told


@pytest.mark.parametrize(
    ("path", "status", "outcome"), [("/recall", 200, "ok"), ("/recall", 503, "http_503"), ("/metrics", 404, "http_404")]
)
def test_what_the_service_says_nothing_of_is_counted_without_its_path(
    public: Counted, path: str, status: int, outcome: str
) -> None:
    """So are what the Worker answers itself, and what is refused before the service knows of it."""
    assert public.http.post(f"{path}/{ID}", headers={"x-test-status": str(status)}).status_code == status
    (point,) = public.points()
    assert (point["tenant"], point["method"], point["route"]) == ("", "POST", "")
    assert (point["outcome"], point["status"]) == (outcome, str(status))


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        ("there is no container instance that can be provided to this durable object", 503),
        ("you are requesting too many containers per second", 429),
        ("the image cannot be run", 500),
        ("silent", 500),
    ],
)
def test_a_call_whose_container_does_not_start_is_counted_as_unreachable(
    public: Counted, failure: str, status: int
) -> None:
    """What the Container's class then answers in the service's place has no id of a request."""
    answer = public.http.post("/recall", headers={"x-test-away": failure}, timeout=PATIENT)
    assert (answer.status_code, answer.headers.get("x-request-id")) == (status, None)
    (point,) = public.points()
    assert (point["outcome"], point["status"], point["route"]) == ("unreachable", str(status), "")


def test_a_call_for_which_there_is_no_container_at_all_is_counted_too(public: Counted) -> None:
    assert public.http.post("/recall", headers={"x-test-away": "unbound"}).status_code == 500
    (point,) = public.points()
    assert (point["outcome"], point["status"], point["route"]) == ("unreachable", "500", "")


@pytest.mark.parametrize("dataset", ["absent", "broken"])
def test_without_a_dataset_or_with_one_that_fails_a_call_is_answered_the_same(public: Counted, dataset: str) -> None:
    headers = {**reported(NOTE, "POST", "/recall"), "x-test-dataset": dataset}
    answer = public.http.post("/recall", headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"port": 8000, "path": "/recall"})
    assert HEADER not in answer.headers
    assert public.points() == []


@pytest.mark.parametrize(
    "report",
    ["no json", "7", "null", "[]", json.dumps({"tenant": 7, "route": {}, "model_tokens": "many", "tool": "x" * 600})],
)
def test_of_a_report_of_another_form_nothing_is_written_and_nothing_fails(public: Counted, report: str) -> None:
    assert public.http.post("/recall", headers={"x-test-report": report}).status_code == 200
    (point,) = public.points()
    assert (point["tenant"], point["route"], point["tool"], point["model_tokens"]) == ("", "", "", 0)


def test_a_tenant_longer_than_an_index_may_be_is_left_out(public: Counted) -> None:
    for tenant, written in (("t" * 96, "t" * 96), ("t" * 97, ""), ("é", "")):
        public.http.post("/recall", headers=reported(replace(NOTE, tenant_id=tenant), "POST", "/recall"))
        assert [point["tenant"] for point in public.points()] == [written]


def test_the_service_tells_of_calls_where_there_is_a_dataset(container: dict[str, Any]) -> None:
    assert container["env"]["REPORT_CALLS"] == "true"


def test_a_call_of_the_wire_is_one_point_with_no_name_in_its_route(wire: Counted, edge: Edge) -> None:
    own = edge.own
    query = {"vector": [1.0] * 32, "topK": 3}
    for path, body in (
        (f"/d1/database/{own.database_id}/query", {"sql": "SELECT 1"}),
        (f"/d1/database/{own.database_id}/query", {"sql": "SELEC"}),
        ("/d1/database/another/query", {"sql": "SELECT 1"}),
        ("/vectorize/v2/indexes/another/query", query),
        ("/ai/run/@cf/another/model", {}),
        ("/d1/database", {}),
    ):
        wire.http.post(path, json=body)
    assert [(point["route"], point["outcome"], point["status"]) for point in wire.points()] == [
        ("/d1/database/{database}/query", "ok", "200"),
        ("/d1/database/{database}/query", "7500", "400"),
        ("/d1/database/{database}/query", "7404", "404"),
        ("/vectorize/{index}/query", "3000", "404"),
        ("/ai/run/{model}", "5007", "404"),
        ("", "7001", "405"),
    ]


def test_whoever_has_no_secret_is_counted_as_refused(wire: Counted) -> None:
    wire.http.get("/capabilities", headers={"authorization": "Bearer wrong"})
    (point,) = wire.points()
    assert (point["tenant"], point["route"], point["outcome"], point["status"]) == ("", "", "10000", "401")


def test_a_dataset_that_fails_changes_nothing_on_the_wire(wire: Counted) -> None:
    answer = wire.http.get("/capabilities", headers={"x-test-dataset": "broken"})
    assert answer.json()["success"] is True
    assert wire.points() == []
