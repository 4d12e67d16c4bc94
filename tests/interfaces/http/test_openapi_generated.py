"""Requests generated from our OpenAPI document, well formed and not: every answer is as the document says."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, assume, given, settings
from schemathesis.specs.openapi import checks

from app.bootstrap import build_shards
from app.interfaces.asgi import create_app
from app.runtime.shards import Shards
from tests.support.agent_memory_probes import AGENT_MEMORY_PROBES
from tests.support.archive_probes import ARCHIVE_PROBES
from tests.support.assembly_probes import ASSEMBLY_PROBES
from tests.support.audit_probes import AUDIT_PROBES
from tests.support.blob_probes import BLOB_PROBES
from tests.support.context_probes import CONTEXT_PROBES
from tests.support.episodic_probes import EPISODIC_PROBES
from tests.support.facts_probes import FACTS_PROBES
from tests.support.generation import examples
from tests.support.service import settings_for
from tests.support.workflow_probes import WORKFLOW_PROBES
from tests.support.working_probes import WORKING_PROBES

pytestmark = pytest.mark.thorough

CHECKS = [
    checks.allow_header_conformance,
    checks.content_type_conformance,
    checks.ignored_auth,
    checks.negative_data_rejection,
    checks.positive_data_acceptance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.status_code_conformance,
    checks.unsupported_method,
    checks.use_after_free,
]


class Serving:
    """The service on a socket of this machine, in a thread."""

    def __init__(self, shards: Shards) -> None:
        self.shards = shards
        self.runtime = shards.main
        self.server = uvicorn.Server(uvicorn.Config(create_app(shards), port=0, log_config=None, access_log=False))
        self.started = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        await self.shards.start()
        serving = asyncio.create_task(self.server.serve())
        while not self.server.started:
            await asyncio.sleep(0.01)
        self.started.set()
        await serving

    @cached_property
    def url(self) -> str:
        port = self.server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/openapi.json"

    @cached_property
    def operations(self) -> dict[str, Any]:
        document = schemathesis.openapi.from_url(self.url, config=CONFIG, timeout=60)
        return {operation.label: operation for operation in _operations(document)}


def _operations(document: Any) -> list[Any]:
    return [result.ok() for result in document.get_all_operations()]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(build_shards(settings_for(tmp_path_factory.mktemp("data"))))
    serving.thread.start()
    assert serving.started.wait(10)
    yield serving
    serving.server.should_exit = True
    serving.thread.join()


CONFIG = schemathesis.Config.from_dict(
    {
        "checks": {
            "positive_data_acceptance": {"expected-statuses": ["2xx", "304", "403", "404", "409", "412"]},
            "negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 413, 415, 422]},
        }
    }
)
"""Which answers are right. 401 is only where there was no credential, which is one of the ways to do it wrong."""
COMMAND_CONFIG = """
[warnings]
fail-on = ["missing_auth"]

[checks]
positive_data_acceptance.expected-statuses = ["2xx", "304", "404", "409", "412"]
negative_data_rejection.expected-statuses = [400, 401, 404, 405, 409, 412, 413, 415, 422]

# No schema says that the tenant is the credential's, that one of two parameters of a query is needed, that the run is
# of the same type, and that calls have ids of their own. Numbers beyond the bound are made, which is no double's.
[[operations]]
include-name = [
  "DELETE /tenant",
  "GET /facts",
  "POST /context/assemble",
  "POST /runs/{run_id}/audit",
  "POST /runs",
  "POST /runs/{run_id}/complete",
]
checks.positive_data_acceptance.enabled = false

# HTTP does not tell an empty body from none: it is an empty blob.
[[operations]]
include-name = "POST /blobs"
checks.negative_data_rejection.enabled = false
"""
"""What its command is told: that a credential is refused is a failure too."""
AGENT = "bot"
"""The agent for which a credential is good that is bound to one."""
POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


CREDENTIALS = ("GET /credentials", "POST /credentials", "DELETE /credentials/{credential_id}")
CASES: list[tuple[str, schemathesis.GenerationMode, int]] = [
    ("POST /store", POSITIVE, 20),
    ("POST /store", NEGATIVE, 10),
    ("POST /recall", POSITIVE, 25),
    ("POST /recall", NEGATIVE, 10),
    ("POST /recall/explain", POSITIVE, 20),
    ("POST /recall/explain", NEGATIVE, 10),
    ("DELETE /memories/{memory_id}", POSITIVE, 50),
    ("DELETE /memories/{memory_id}", NEGATIVE, 50),
    ("DELETE /agents/{agent_id}", POSITIVE, 20),
    ("DELETE /agents/{agent_id}", NEGATIVE, 20),
    ("DELETE /credentials/{credential_id}/memories", POSITIVE, 20),
    ("DELETE /credentials/{credential_id}/memories", NEGATIVE, 20),
    ("POST /undo", POSITIVE, 20),
    ("POST /undo", NEGATIVE, 20),
    ("GET /consolidations", POSITIVE, 10),
    ("GET /consolidations", NEGATIVE, 10),
    ("POST /consolidations/dry-run", POSITIVE, 10),
    ("POST /consolidations/dry-run", NEGATIVE, 10),
    ("POST /consolidations/undo", POSITIVE, 10),
    ("POST /consolidations/undo", NEGATIVE, 10),
    ("DELETE /tenant", POSITIVE, 5),
    ("GET /operations/{operation_id}", POSITIVE, 20),
    ("GET /operations/{operation_id}", NEGATIVE, 20),
    ("GET /export", POSITIVE, 10),
    ("GET /export", NEGATIVE, 20),
    ("POST /import", POSITIVE, 20),
    ("POST /profiles/{profile}/ingest", POSITIVE, 20),
    ("POST /profiles/{profile}/ingest", NEGATIVE, 20),
    ("GET /profiles/{profile}/operations/{operation_id}", POSITIVE, 20),
    ("GET /profiles/{profile}/operations/{operation_id}", NEGATIVE, 20),
    ("POST /profiles/{profile}/operations/{operation_id}/retry", POSITIVE, 20),
    ("POST /profiles/{profile}/operations/{operation_id}/retry", NEGATIVE, 20),
    ("POST /profiles/{profile}/remember", POSITIVE, 20),
    ("POST /profiles/{profile}/remember", NEGATIVE, 10),
    ("POST /profiles/{profile}/recall", POSITIVE, 20),
    ("POST /profiles/{profile}/recall", NEGATIVE, 10),
    ("GET /profiles/{profile}/memories", POSITIVE, 20),
    ("GET /profiles/{profile}/memories", NEGATIVE, 20),
    ("GET /profiles/{profile}/memories/{memory_id}", POSITIVE, 20),
    ("POST /profiles/{profile}/memories/{memory_id}/forget", POSITIVE, 20),
    ("POST /profiles/{profile}/memories/{memory_id}/forget", NEGATIVE, 20),
    ("POST /profiles/{profile}/memories/{memory_id}/unforget", POSITIVE, 20),
    ("POST /profiles/{profile}/summary", POSITIVE, 20),
    ("POST /profiles/{profile}/summary", NEGATIVE, 20),
    ("DELETE /profiles/{profile}/sessions/{session_id}", POSITIVE, 20),
    ("DELETE /profiles/{profile}/sessions/{session_id}", NEGATIVE, 20),
    ("GET /memories", POSITIVE, 50),
    ("GET /memories", NEGATIVE, 50),
    ("GET /memories/{memory_id}", POSITIVE, 20),
    ("GET /memories/{memory_id}", NEGATIVE, 20),
    ("PATCH /memories/{memory_id}", POSITIVE, 20),
    ("PATCH /memories/{memory_id}", NEGATIVE, 20),
    ("POST /deletions", POSITIVE, 20),
    ("POST /deletions", NEGATIVE, 20),
    ("GET /agents", POSITIVE, 20),
    ("GET /agents", NEGATIVE, 20),
    ("GET /usage", POSITIVE, 20),
    ("GET /usage", NEGATIVE, 20),
    ("GET /agents/{agent_id}", POSITIVE, 20),
    ("GET /agents/{agent_id}", NEGATIVE, 20),
    ("PUT /agents/{agent_id}", POSITIVE, 20),
    ("PUT /agents/{agent_id}", NEGATIVE, 20),
    ("GET /healthz", POSITIVE, 5),
    ("GET /readyz", POSITIVE, 5),
    ("GET /metrics", POSITIVE, 5),
    ("GET /tools", POSITIVE, 5),
    ("GET /tools", NEGATIVE, 20),
    *((operation, mode, 15) for operation in CONTEXT_PROBES | ASSEMBLY_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in EPISODIC_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 10) for operation in WORKING_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in WORKFLOW_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 10) for operation in AGENT_MEMORY_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 20) for operation in BLOB_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in ARCHIVE_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in AUDIT_PROBES for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in CREDENTIALS for mode in (POSITIVE, NEGATIVE)),
    *((operation, mode, 15) for operation in FACTS_PROBES for mode in (POSITIVE, NEGATIVE)),
]
"""Each operation, whether it is sent what the document allows or what it does not, and how often in a long run."""
LONG = {
    ("POST /store", POSITIVE),
    ("POST /store", NEGATIVE),
    ("POST /recall", NEGATIVE),
    ("POST /recall/explain", POSITIVE),
    ("POST /recall/explain", NEGATIVE),
    ("POST /profiles/{profile}/remember", POSITIVE),
    ("POST /profiles/{profile}/remember", NEGATIVE),
    ("POST /profiles/{profile}/recall", NEGATIVE),
    ("PUT /context/{name}", NEGATIVE),
    ("POST /runs/{run_id}/audit", NEGATIVE),
}
_ONE_OF = 3
"""One refusal of so many is in a short run: what is not allowed is refused by one rule, whatever the operation."""


def _cases() -> Iterator[Any]:
    refusals = count()
    for operation, mode, cases in CASES:
        long = (operation, mode) in LONG or (mode == NEGATIVE and next(refusals) % _ONE_OF)
        yield pytest.param(operation, mode, cases, None, marks=[pytest.mark.long] if long else [])
        bound = mode == NEGATIVE or long  # who asks is told of a request that is none, whatever the credential
        yield pytest.param(operation, mode, cases, AGENT, marks=[pytest.mark.long] if bound else [])


def _is_past(moment: str) -> bool:
    try:
        return 1 < datetime.fromisoformat(moment).year < 2026
    except ValueError:
        return False


def _complete(case: Any, operation: str, tenant: str, agent: str | None) -> None:
    """Make a case one that holds in what no schema can say."""
    body = case.body if isinstance(case.body, dict) else {}
    if operation == "GET /facts":  # one of agent_id and agent_type is there
        case.query = {"agent_id": AGENT, **(case.query or {})}
    for message in body.get("messages", []):  # nothing was said later than tomorrow, or on a day that never was
        if message.get("timestamp") is not None and not _is_past(message["timestamp"]):
            del message["timestamp"]
    if operation == "DELETE /tenant":  # it is the credential's own
        case.query = {"confirm": tenant}
    if agent is not None:  # it is the credential's agent
        # Where one part of a changed path is encoded, the case would be taken for one that breaks the schema.
        path = {} if "%" in str(case.path_parameters) else case.path_parameters
        for part in (path, case.query, body):
            for name in {"agent_id", "profile"} & set(part or ()):
                part[name] = agent


@pytest.mark.parametrize(("operation", "mode", "cases", "agent"), list(_cases()))
def test_an_answer_is_as_the_document_says(
    serving: Serving, operation: str, mode: schemathesis.GenerationMode, cases: int, agent: str | None
) -> None:
    operations = serving.operations
    assert len(operations) == 103, "a new operation belongs in this test's list"
    tenant = operation.partition(" ")[2].strip("/").split("/")[0]  # nobody else's memories are erased
    now = serving.runtime.backends.clock()
    credential = serving.runtime.credentials.issue(tenant, now=now, agent_id=agent, admin=agent is None)
    answered: set[int] = set()

    made = max(3, examples(cases) // 2)

    @settings(max_examples=made, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operations[operation].as_strategy(generation_mode=mode))
    def every_case(case: Any) -> None:
        assume(mode == NEGATIVE or not (case.query or {}).get("cursor"))  # no schema says which was given out
        if mode == POSITIVE:
            _complete(case, operation, tenant, agent)
        answer = case.call_and_validate(headers={"Authorization": f"Bearer {credential}"}, checks=CHECKS)
        if "Authorization" in answer.request.headers:  # to leave it out is one way of doing it wrong
            answered.add(answer.status_code)

    every_case()
    assert answered or mode == NEGATIVE
    assert not answered & ({401, 403} if agent is None else {401}), "a credential that holds was refused"


@pytest.mark.long
def test_schemathesis_itself_finds_nothing_at_the_examples_and_the_bounds(serving: Serving, tmp_path: Path) -> None:
    """Its command, with every check: what is not generated at random is the same in every run."""
    credential = serving.runtime.credentials.issue("schemathesis", now=serving.runtime.backends.clock(), admin=True)
    config = tmp_path / "schemathesis.toml"
    config.write_text(COMMAND_CONFIG)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config), "run", serving.url]
    options = ["--checks", "all", "--phases", "examples,coverage", "--continue-on-failure", "--no-color"]
    done = subprocess.run(
        [*command, *options, "--header", f"Authorization: Bearer {credential}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 selected / 100 total" in done.stdout
