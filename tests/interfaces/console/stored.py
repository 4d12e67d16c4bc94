"""A service whose every field has the same text, so that a page which shows a field as anything but text is found."""

from typing import Any

import httpx

from app.interfaces.console.pages import PAGES
from tests.interfaces.console.browser import Browser
from tests.support.service import Service

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;{{7*7}}{% x %}<!--\u202e"
"""A text that breaks out of an attribute, a tag, a comment or a template, where it is not written as text."""
RUN = "01K2Z4M1V7Q8T3B5N6C7D8E9FA"


async def poisoned(service: Service, tenant: str = "acme", agent_id: str = "bot", text: str = EVIL) -> dict[str, str]:
    """Store a text in every field that takes texts; return the id of a memory, of a run and of an ingestion."""
    who: dict[str, Any] = {"tenant": tenant}
    memory = {"agent_id": agent_id, "content": f"tea {text}", "metadata": {text: text, "speaker": text}}
    await _ok(service.post("/store", memory | {"session_id": text}, **who))
    fact = {"agent_id": agent_id, "subject": text, "predicate": text, "object": text, "single": True}
    await _ok(service.post("/facts", fact, **who))
    await _ok(service.post("/facts", fact | {"object": f"other {text}"}, **who))
    run = {"agent_id": agent_id, "agent_type": "support", "input": {text: text}, "run_id": RUN}
    await _ok(service.post("/runs", run, **who))
    call = {"tool": "t", "input": {text: text}, "outcome": "error", "error": text, "output": text, "ms": 1}
    await _ok(service.post(f"/runs/{RUN}/audit", {"calls": [call]}, **who))
    await _ok(service.post(f"/runs/{RUN}/episodes", {"episodes": [{"type": "message", "content": text}]}, **who))
    await _ok(service.post(f"/runs/{RUN}/fail", {"error": text}, **who))
    spec = {"spec": {text: text}, "agent_type": "support", "task_type": "answer"}
    headers = service.credential(tenant, admin=True)
    await _ok(service.client.put("/workflows/w", json=spec, headers=headers))
    await _ok(service.client.put("/context/style", json={"content": text}, headers=headers))
    messages = [{"role": "user", "content": text}]
    answer = await _ok(
        service.post(f"/profiles/{agent_id}/ingest", {"messages": messages, "session_id": text[:60]}, **who)
    )
    listed = await service.client.get("/memories", params={"agent_id": agent_id}, headers=headers)
    ids = [each["id"] for each in listed.json()["memories"] if each["content"].startswith("tea ")]
    return {"memory": ids[0], "run": RUN, "operation": str(answer.json().get("operation_id", ""))}


async def every_page(browser: Browser, ids: dict[str, str], agent_id: str = "bot") -> list[tuple[str, httpx.Response]]:
    """Every page of the console about an agent, with ids of what is stored there, as far as the visitor may."""
    paths = paths_of(ids, agent_id)
    return [(path, await browser.client.get(f"/console{path}", follow_redirects=True)) for path in paths]


def paths_of(ids: dict[str, str], agent_id: str) -> list[str]:
    """The paths of every page, with ids of what is stored and without."""
    named = {
        "memory_id": ids["memory"],
        "run_id": ids["run"],
        "operation_id": ids["operation"],
        "workflow_id": "w",
    }
    more = f"agent={agent_id}&q=tea&memory={ids['memory']}&session_id=s&agent_id={agent_id}&agent_type=support"
    paths = []
    for page in PAGES:
        for route in page.routes:
            if route.method == "GET":
                path = route.path
                for name, id_ in named.items():
                    path = path.replace(f"{{{name}}}", id_)
                paths += [f"{path}?agent={agent_id}", f"{path}?{more}&task_type=answer&run_id={ids['run']}"]
    return paths


async def _ok(answering: Any) -> httpx.Response:
    answer: httpx.Response = await answering
    assert answer.is_success, answer.text
    return answer
