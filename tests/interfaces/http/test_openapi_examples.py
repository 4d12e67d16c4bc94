"""Every operation of the OpenAPI document shows what to send and what comes back, and the examples hold."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import jsonschema_rs
import pytest

from app.domain import errors
from app.domain.errors import MemoryGatewayError
from app.interfaces.http.schemas.examples import MEMORY_ID
from tests.support.scopes import begin_run
from tests.support.service import Service
from tests.support.tables import insert_rows

PROBLEM = "application/problem+json"
NAMED = {
    "agent_id": "billing",
    "profile": "billing",
    "account_id": "any",
    "namespace_name": "support-agent",  # which an example creates
    "profile_name": "user-42",
    "instance": "worker-1",
    "key": "plan",
    "run_id": "01K2Z7A1B2C3D4E5F6G7H8J9KM",
    "workflow_id": "look-up-then-answer",
    "memory_id": MEMORY_ID,
}
Document: TypeAlias = dict[str, Any]
Operation: TypeAlias = dict[str, Any]

KINDS = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemoryGatewayError)
}


@pytest.fixture(scope="module")
async def document(shared_service: Service) -> Document:
    answer: Document = (await shared_service.client.get("/openapi.json")).json()
    return answer


def operations(document: Document) -> Iterator[tuple[str, Operation]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def resolved(document: Document, part: Any) -> Any:
    """What a part is, or what it refers to."""
    while "$ref" in part:
        found: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return part


def examples_of(document: Document, shown: Any) -> list[Any]:
    """All examples of a parameter or a body: its own, and those of its schema."""
    own = [resolved(document, each)["value"] for each in shown.get("examples", {}).values()]
    alone = [shown["example"]] if "example" in shown else []
    return [*own, *alone, *resolved(document, shown["schema"]).get("examples", [])]


def shown_with_examples(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Each part of an operation that needs an example: what is sent, and what is answered but for plain text."""
    for parameter in operation.get("parameters", []):
        yield parameter["name"], parameter.get("content", {}).get("application/json", parameter)
    for media_type, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"body as {media_type}", body
    for status, answer in operation["responses"].items():
        for media_type, body in answer.get("content", {}).items():
            if not media_type.startswith("text/plain"):
                yield f"{status} as {media_type}", body


def lacks(document: Document) -> list[str]:
    """Name everything that an operation should have and has not."""
    missing = []
    ids = [operation.get("operationId") for _, operation in operations(document)]
    for name, operation in operations(document):
        if ids.count(operation.get("operationId")) > 1 or not operation.get("operationId"):
            missing.append(f"{name}: an id of its own")
        if operation.get("summary") in {None, "", operation.get("operationId", "").replace("_", " ").title()}:
            missing.append(f"{name}: a summary")
        statuses = {int(status) for status in operation["responses"]}
        if not any(status < 300 for status in statuses) or not any(status >= 400 for status in statuses):
            missing.append(f"{name}: a success and a failure")
        missing += [
            f"{name}: {part}" for part, shown in shown_with_examples(operation) if not examples_of(document, shown)
        ]
    return missing


async def test_every_operation_has_an_id_a_summary_and_an_example_of_all_it_takes_and_gives(document: Document) -> None:
    assert lacks(document) == []
    assert sum(len(list(shown_with_examples(operation))) for _, operation in operations(document)) > 150


def no_id(document: Document) -> None:
    del document["paths"]["/store"]["post"]["operationId"]


def no_summary(document: Document) -> None:
    document["paths"]["/usage"]["get"]["summary"] = "Usage"


def no_example_of_a_body(document: Document) -> None:
    del document["components"]["schemas"]["RecallRequest"]["examples"]


def no_example_of_an_answer(document: Document) -> None:
    del document["components"]["schemas"]["HealthAnswer"]["examples"]


def no_example_of_lines(document: Document) -> None:
    del document["paths"]["/export"]["get"]["responses"]["200"]["content"]["application/x-ndjson"]["example"]


def no_example_of_a_parameter(document: Document) -> None:
    del document["paths"]["/memories"]["get"]["parameters"][0]["schema"]["examples"]


def no_example_of_a_problem(document: Document) -> None:
    del document["paths"]["/tenant"]["delete"]["responses"]["401"]["content"][PROBLEM]["examples"]
    del document["components"]["schemas"]["Problem"]["examples"]


@pytest.mark.parametrize(
    "take_away",
    [
        no_id,
        no_summary,
        no_example_of_a_body,
        no_example_of_an_answer,
        no_example_of_lines,
        no_example_of_a_parameter,
        no_example_of_a_problem,
    ],
)
async def test_what_an_operation_lacks_is_noticed(document: Document, take_away: Callable[[Document], None]) -> None:
    poorer = copy.deepcopy(document)
    take_away(poorer)
    assert lacks(poorer) != []


async def test_every_example_is_valid_against_its_own_schema(document: Document) -> None:
    @cache
    def validator_of(schema: str) -> jsonschema_rs.Validator:
        components = {"components": document["components"]}
        return jsonschema_rs.validator_for(components | json.loads(schema), validate_formats=True)

    for name, operation in operations(document):
        for part, shown in shown_with_examples(operation):
            validator = validator_of(json.dumps(shown["schema"]))
            for example in examples_of(document, shown):
                assert [error.message for error in validator.iter_errors(example)] == [], f"{name}: {part}"


async def test_every_problem_a_status_may_have_is_shown_as_its_class_says(document: Document) -> None:
    for name, operation in operations(document):
        for status, answer in operation["responses"].items():
            shown = answer.get("content", {}).get(PROBLEM, {}).get("examples", {})
            assert re.findall(r"\(`(\w+)`\)", answer["description"]) == list(shown), f"{name}: {status}"
            for code, each in shown.items():
                problem, kind = resolved(document, each)["value"], KINDS[code]
                assert (kind.status, problem["status"]) == (int(status), int(status)), f"{name}: {code}"
                assert (problem["code"], problem["title"]) == (code, kind.title)
                assert problem["type"] == f"urn:memory-gateway:problem:{code}"
                assert problem["detail"]


async def test_a_problem_is_shown_with_all_members_it_has(service: Service, document: Document) -> None:
    headers = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    problem = (await service.client.get("/usage", headers=headers)).json()
    examples = document["components"]["examples"]
    assert [list(each["value"]) for each in examples.values()] == [list(problem)] * len(examples)


async def test_every_example_of_a_request_is_taken(service: Service, document: Document) -> None:
    admin = service.credential(admin=True)
    lines = document["paths"]["/import"]["post"]["requestBody"]["content"]["application/octet-stream"]["example"]
    report = document["paths"]["/import"]["post"]["responses"]["200"]["content"]["application/x-ndjson"]["example"]
    headers = {**admin, "Content-Type": "application/octet-stream"}
    assert (await service.client.post("/import", content=lines, headers=headers)).text == report
    path = document["paths"]["/runs"]["post"]["requestBody"]["content"]["application/json"]
    await service.client.post("/runs", json=examples_of(document, path)[0], headers=admin)  # the run of undo's examples
    backends = service.runtime.backends
    await begin_run(backends, "01K2Z5B8C3D6F9G1H4J7K2M5NP", "billing", agent_type="support")  # which workflows' name
    consolidation = {"tenant_id": "acme", "id": "01K2Z7C3P5S8V1Y4B7E0H3M6RT", "started_at": 1}
    await insert_rows(backends, "consolidation", consolidation)
    taken = 0
    for name, operation in operations(document):
        method, path = name.split()
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        for example in [] if body is None else examples_of(document, body):
            # A run ends once: each example has one of its own.
            begun = {"agent_id": "bot", "agent_type": "t", "input": None, "episodes": 0}
            run = (await service.client.post("/runs", json=begun, headers=admin)).json()["run_id"]
            url = path.format(**{**NAMED, "run_id": run, "name": "house-style"})
            url += "?agent_id=default" if "{memory_id}" in path else ""
            answer = await service.client.request(method, url, json=example, headers=admin)
            assert answer.status_code < 300, f"{name}: {json.dumps(example)}: {answer.text}"
            taken += 1
    assert taken >= 6


async def test_every_example_of_a_query_is_taken(service: Service, document: Document) -> None:
    admin = service.credential(admin=True)
    await service.store("text", agent_id="billing")
    await service.client.put("/configuration", json={"values": {}}, headers=admin)
    for name, operation in operations(document):
        method, path = name.split()
        parameters = operation.get("parameters", []) if method == "GET" and "{" not in path else []
        needed = {each["name"]: examples_of(document, each)[0] for each in parameters if each["required"]}
        needed |= {"/facts": {"agent_id": "billing"}}.get(path, {})  # or agent_type: which one, no schema can say
        for parameter in parameters:
            for example in examples_of(document, parameter.get("content", {}).get("application/json", parameter)):
                text = json.dumps(example) if isinstance(example, dict) else str(example)
                answer = await service.client.get(path, params={**needed, parameter["name"]: text}, headers=admin)
                assert answer.status_code == 200, f"{name}: {parameter['name']}={text}: {answer.text}"
