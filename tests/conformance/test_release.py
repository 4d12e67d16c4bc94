"""What tells of a release: the bill of materials, the audit of the locks, the workflow that builds it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.deploy.dockerfile import ROOT

_RELEASE = Path(sys.prefix) / "release" / "bin"
_LOCK = ROOT / "deploy" / "lock"
_WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
_FREE = re.compile(r"MIT|BSD|Apache|PSF|MPL|Mozilla|0BSD|Zlib|CC0|LGPLv2\+|any-OSI")
"""Licences under which a company may run and change what it uses."""
_UNSTATED = {"protobuf": "BSD-3-Clause"}
"""Licences that a package states in a form that the bill does not take over."""


def _make(target: str, *variables: str) -> "subprocess.CompletedProcess[str]":
    make = shutil.which("make")
    assert make is not None
    told = [make, f"VENV={sys.prefix}", f"PYTHON={sys.executable}", target, *variables]
    return subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    made = _make("sbom")
    assert made.returncode == 0, made.stderr  # the command validates what it writes against the schema of CycloneDX
    read: dict[str, Any] = json.loads((ROOT / "dist" / "memory-gateway.cdx.json").read_text(encoding="utf-8"))
    return read


def test_the_bill_of_materials_is_of_the_service_and_names_what_the_locks_name(bill: dict[str, Any]) -> None:
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "memory-gateway"
    named = {(_normal(part["name"]), part["version"]) for part in bill["components"]}
    assert len(named) > 50
    locked = re.findall(
        r"^([A-Za-z0-9_.-]+)==([^ ;]+)",
        _locks("runtime.txt", "model.txt", "model-multilingual.txt", "traces.txt"),
        re.MULTILINE,
    )
    assert named - set(locked) == set()


def test_each_part_of_the_bill_has_a_licence_that_lets_a_company_run_it(bill: dict[str, Any]) -> None:
    licences = {
        part["name"]: " ".join(_licence(each) for each in part.get("licenses", [])) for part in bill["components"]
    }
    assert {name for name in _UNSTATED if licences[name]} == set(), "it is stated by now"
    assert {name: licence for name, licence in (licences | _UNSTATED).items() if not _FREE.search(licence)} == {}


def _licence(stated: dict[str, Any]) -> str:
    licence = stated.get("license", {})
    return str(stated.get("expression") or licence.get("id") or licence.get("name"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _locks(*names: str) -> str:
    return "\n".join((_LOCK / name).read_text(encoding="utf-8") for name in names)


class _Advisories(BaseHTTPRequestHandler):
    """Answers as the OSV API does (https://google.github.io/osv.dev/post-v1-query/): one package is vulnerable."""

    vulnerable = ""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = [_ADVISORY] if asked["package"]["name"] == self.vulnerable else []
        body = json.dumps({"vulns": found} if found else {}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


_ADVISORY = {
    "id": "GHSA-aaaa-bbbb-cccc",
    "details": "It reads more than it should.",
    "affected": [
        {
            "package": {"name": "certifi", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "9999.1.1"}]}],
        }
    ],
}


@pytest.fixture
def advisories(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(_Advisories, "vulnerable", "")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Advisories)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1/query"
    server.shutdown()
    server.server_close()


def _audit(service: str) -> "subprocess.CompletedProcess[str]":
    return _make(
        "audit", f"ADVISORIES=--vulnerability-service osv --osv-url {service}", "AUDITED=deploy/lock/runtime.txt"
    )


def test_an_audit_of_a_lock_without_known_vulnerabilities_passes(advisories: str) -> None:
    audited = _audit(advisories)
    assert audited.returncode == 0, audited.stderr
    assert "No known vulnerabilities found" in audited.stdout + audited.stderr


def test_an_audit_fails_and_names_the_package_where_one_of_the_lock_is_vulnerable(
    advisories: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Advisories, "vulnerable", "certifi")
    audited = _audit(advisories)
    assert audited.returncode != 0
    assert "certifi" in audited.stdout
    assert "GHSA-aaaa-bbbb-cccc" in audited.stdout


def test_an_audit_that_cannot_ask_does_not_pass() -> None:
    assert _audit("http://127.0.0.1:1/v1/query").returncode != 0


def _checked(workflow: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    (folder / "release.yml").write_text(workflow, encoding="utf-8")
    told = [str(_RELEASE / "check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    told.append(str(folder / "release.yml"))
    return subprocess.run(told, capture_output=True, text=True, check=False)


def test_the_workflow_keeps_to_the_schema_of_workflows(tmp_path: Path) -> None:
    checked = _checked(_WORKFLOW.read_text(encoding="utf-8"), tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_a_mistake_in_the_workflow_would_be_noticed(tmp_path: Path) -> None:
    mistaken = _WORKFLOW.read_text(encoding="utf-8").replace("runs-on:", "runs-at:", 1)
    assert _checked(mistaken, tmp_path).returncode != 0
