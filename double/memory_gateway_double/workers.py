"""The REST endpoints of Workers: scripts with their bindings, secrets, versions, and the subdomain of workers.dev.

https://developers.cloudflare.com/api/resources/workers/

It keeps what is uploaded and runs none of it.
"""

import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from memory_gateway_double.clock import Clock, timestamp
from memory_gateway_double.journal import Journal
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import ok, page, read_object, refused
from memory_gateway_double.wire import Reply, Request
from memory_gateway_double.worker_script import (
    MALFORMED,
    Script,
    deployment_of,
    read_upload,
    resources,
    summary,
    version_of,
)

SCRIPT_NOT_FOUND = 10007
SERVICE_NOT_FOUND = 10090
SECRET_NOT_FOUND = 10056

_STORE = "workers"
_NAME = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}")
_PER_PAGE = 10


class Workers:
    """The account's Workers. Safe from any thread."""

    def __init__(self, journal: Journal, clock: Clock, subdomain: str) -> None:
        """Restore what the journal has; ``subdomain`` is the account's, below workers.dev."""
        self._journal = journal
        self._clock = clock
        self._subdomain = subdomain
        self._lock = threading.RLock()
        self.scripts: dict[str, Script] = {}
        for kind, facts, content in journal.events(_STORE):
            self._restore(kind, facts, content)

    def routes(self, account: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        base = f"{account}/workers"
        script = f"{base}/scripts/{{script}}"
        yield Route("workers.list", "GET", f"{base}/scripts", self._list)
        yield Route("workers.upload", "PUT", script, self._upload)
        yield Route("workers.download", "GET", script, self._download)
        yield Route("workers.delete", "DELETE", script, self._delete)
        yield Route("workers.settings.get", "GET", f"{script}/settings", self._settings)
        yield Route("workers.settings.edit", "PATCH", f"{script}/script-settings", self._edit_settings)
        yield Route("workers.secrets.list", "GET", f"{script}/secrets", self._secrets)
        yield Route("workers.secrets.put", "PUT", f"{script}/secrets", self._put_secret)
        yield Route("workers.secrets.delete", "DELETE", f"{script}/secrets/{{secret}}", self._delete_secret)
        yield Route("workers.script_subdomain.get", "GET", f"{script}/subdomain", self._script_subdomain)
        yield Route("workers.script_subdomain.set", "POST", f"{script}/subdomain", self._set_subdomain)
        yield Route("workers.versions.list", "GET", f"{script}/versions", self._versions)
        yield Route("workers.versions.get", "GET", f"{script}/versions/{{version}}", self._version)
        yield Route("workers.versions.create", "POST", f"{script}/versions", self._create_version)
        yield Route("workers.deployments.list", "GET", f"{script}/deployments", self._deployments)
        yield Route("workers.deployments.create", "POST", f"{script}/deployments", self._deploy)
        yield Route("workers.schedules", "PUT", f"{script}/schedules", self._schedules)
        yield Route("workers.service.get", "GET", f"{base}/services/{{script}}", self._service)
        yield Route("workers.service.delete", "DELETE", f"{base}/services/{{script}}", self._delete)
        yield Route("workers.subdomain", "GET", f"{base}/subdomain", self._account_subdomain)
        yield Route("workers.get", "GET", f"{base}/workers/{{script}}", self._worker)
        yield Route("workers.kv_namespaces", "GET", f"{account}/storage/kv/namespaces", self._namespaces)
        yield Route("workers.namespaces", "GET", f"{base}/durable_objects/namespaces", self._namespaces)

    def _restore(self, kind: str, facts: Mapping[str, Any], content: bytes) -> None:
        name = str(facts["script"])
        if kind == "upload":
            self._put(name, str(facts["content_type"]), content, str(facts["at"]))
        elif kind == "drop":
            self.scripts.pop(name, None)
        elif kind == "secret":
            self.scripts[name].secrets[str(facts["name"])] = str(facts["text"])
        elif kind == "no_secret":
            self.scripts[name].secrets.pop(str(facts["name"]), None)
        else:
            self.scripts[name].on_workers_dev = bool(facts["enabled"])

    def _put(self, name: str, content_type: str, body: bytes, at: str, version: str | None = None) -> Script:
        told, modules = read_upload(content_type, body)
        with self._lock:
            script = self.scripts.setdefault(name, Script(name, at))
            script.metadata, script.modules = told, modules
            for binding in told.get("bindings", []):
                if binding.get("type") == "secret_text":
                    script.secrets[binding["name"]] = binding["text"]
            if version is None:
                self._add_version(script, at)
            return script

    def _add_version(self, script: Script, at: str) -> str:
        id_ = str(uuid.uuid4())
        script.versions.insert(0, {"id": id_, "number": len(script.versions) + 1, "at": at})
        return id_

    def _find(self, request: Request, code: int = SCRIPT_NOT_FOUND) -> Script:
        with self._lock:
            script = self.scripts.get(request.parameters["script"])
        if script is None:
            kind = "service" if code == SERVICE_NOT_FOUND else "script"
            raise refused(404, code, f"workers.api.error.{kind}_not_found")
        return script

    def _now(self) -> str:
        return timestamp(self._clock.now())

    async def _list(self, _: Request) -> Reply:
        return ok([summary(script) for script in list(self.scripts.values())])

    async def _upload(self, request: Request) -> Reply:
        name, content_type = request.parameters["script"], request.headers.get("content-type", "")
        if not _NAME.fullmatch(name):
            raise refused(400, 10016, "workers.api.error.invalid_script_name")
        script = self._put(name, content_type, request.body, self._now())
        facts: dict[str, object] = {"script": name, "content_type": content_type, "at": script.created_on}
        self._journal.record(_STORE, "upload", facts, request.body)
        return ok({**summary(script), "entry_point": script.metadata.get("main_module"), "startup_time_ms": 1})

    async def _download(self, request: Request) -> Reply:
        script = self._find(request)
        main = script.metadata.get("main_module", script.metadata.get("body_part"))
        return Reply(200, script.modules[str(main)], "application/javascript+module")

    async def _delete(self, request: Request) -> Reply:
        script = self._find(request, SERVICE_NOT_FOUND if "/services/" in request.path else SCRIPT_NOT_FOUND)
        with self._lock:
            self.scripts.pop(script.name, None)
            self._journal.record(_STORE, "drop", {"script": script.name})
        return ok(None)

    async def _settings(self, request: Request) -> Reply:
        script = self._find(request)
        kept = ("compatibility_date", "compatibility_flags", "observability", "migration_tag", "tags")
        return ok({"bindings": script.bindings, **{key: script.metadata.get(key) for key in kept}})

    async def _edit_settings(self, request: Request) -> Reply:
        script = self._find(request)
        script.metadata |= read_object(request, MALFORMED, "The settings are malformed")
        return ok({"observability": script.metadata.get("observability"), "logpush": False, "tail_consumers": None})

    async def _secrets(self, request: Request) -> Reply:
        return ok([{"name": name, "type": "secret_text"} for name in self._find(request).secrets])

    async def _put_secret(self, request: Request) -> Reply:
        script, body = self._find(request), read_object(request, MALFORMED, "The secret is malformed")
        name, text = body.get("name"), body.get("text")
        if not isinstance(name, str) or not isinstance(text, str) or not name:
            raise refused(400, MALFORMED, "A secret needs a name and a text.")
        with self._lock:
            script.secrets[name] = text
            self._add_version(script, self._now())
            self._journal.record(_STORE, "secret", {"script": script.name, "name": name, "text": text})
        return ok({"name": name, "type": "secret_text"})

    async def _delete_secret(self, request: Request) -> Reply:
        script, name = self._find(request), request.parameters["secret"]
        if script.secrets.pop(name, None) is None:
            raise refused(404, SECRET_NOT_FOUND, "workers.api.error.secret_not_found")
        self._journal.record(_STORE, "no_secret", {"script": script.name, "name": name})
        return ok(None)

    async def _script_subdomain(self, request: Request) -> Reply:
        return ok({"enabled": self._find(request).on_workers_dev, "previews_enabled": False})

    async def _set_subdomain(self, request: Request) -> Reply:
        script, body = self._find(request), read_object(request, MALFORMED, "The subdomain is malformed")
        if not isinstance(body.get("enabled"), bool):
            raise refused(400, MALFORMED, "enabled is required.")
        script.on_workers_dev = body["enabled"]
        self._journal.record(_STORE, "subdomain", {"script": script.name, "enabled": script.on_workers_dev})
        return ok({"enabled": script.on_workers_dev, "previews_enabled": bool(body.get("previews_enabled"))})

    async def _versions(self, request: Request) -> Reply:
        items = [version_of(version) for version in self._find(request).versions]
        listed = orjson.loads(page(request, items, per_page=_PER_PAGE).body)
        return ok({"items": listed["result"]}, info=listed["result_info"])

    async def _version(self, request: Request) -> Reply:
        script = self._find(request)
        found = next((each for each in script.versions if each["id"] == request.parameters["version"]), None)
        if found is None:
            raise refused(404, SCRIPT_NOT_FOUND, "workers.api.error.version_not_found")
        return ok({**version_of(found), "resources": resources(script)})

    async def _create_version(self, request: Request) -> Reply:
        """Keep a version, which serves nobody until it is deployed."""
        script, content_type = self._find(request), request.headers.get("content-type", "")
        read_upload(content_type, request.body)
        with self._lock:
            id_ = self._add_version(script, self._now())
            script.staged[id_] = content_type, request.body
        return ok({**version_of(script.versions[0]), "resources": resources(script), "startup_time_ms": 1})

    async def _deployments(self, request: Request) -> Reply:
        return ok({"deployments": [deployment_of(each) for each in self._find(request).versions[:10]]})

    async def _deploy(self, request: Request) -> Reply:
        script, body = self._find(request), read_object(request, MALFORMED, "The deployment is malformed")
        ids = [each.get("version_id") for each in body.get("versions", [])]
        found = next((each for each in script.versions if each["id"] in ids), None)
        if found is None:
            raise refused(404, SCRIPT_NOT_FOUND, "workers.api.error.version_not_found")
        if found["id"] in script.staged:
            content_type, form = script.staged.pop(found["id"])
            self._put(script.name, content_type, form, self._now(), found["id"])
            facts: dict[str, object] = {"script": script.name, "content_type": content_type, "at": script.created_on}
            self._journal.record(_STORE, "upload", facts, form)
        return ok(deployment_of(found))

    async def _schedules(self, request: Request) -> Reply:
        self._find(request)
        return ok({"schedules": request.json()})

    async def _service(self, request: Request) -> Reply:
        script = self._find(request, SERVICE_NOT_FOUND)
        environment = {"environment": "production", "script": summary(script), "created_on": script.created_on}
        return ok({"id": script.name, "default_environment": environment, "environments": [environment]})

    async def _worker(self, request: Request) -> Reply:
        script = self._find(request)
        url = f"https://{script.name}.{self._subdomain}.workers.dev"
        subdomain = {"enabled": script.on_workers_dev, "previews_enabled": False, "url": url}
        return ok({"id": summary(script)["tag"], "name": script.name, "subdomain": subdomain, "tags": []})

    async def _account_subdomain(self, _: Request) -> Reply:
        if not self._subdomain:
            raise refused(404, SCRIPT_NOT_FOUND, "workers.api.error.subdomain_not_found")
        return ok({"subdomain": self._subdomain})

    async def _namespaces(self, request: Request) -> Reply:
        return page(request, [], per_page=_PER_PAGE)
