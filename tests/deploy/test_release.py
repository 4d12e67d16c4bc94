"""The workflow that builds a release: what it may do, what it runs, and when it publishes."""

import re
from typing import Any

import pytest
import yaml

from tests.deploy.dockerfile import ROOT

_PUBLISHES = ("publish-python", "publish-npm", "publish-image")
_TEXT = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    read = yaml.safe_load(_TEXT)
    return {"on": read.pop(True), **read}  # YAML 1.1 reads "on" as true


def test_each_action_is_pinned_by_its_commit(workflow: dict[str, Any]) -> None:
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(used) > 10
    assert [action for action in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)] == []


def test_nothing_runs_the_workflow_but_a_person_and_it_is_a_dry_run_unless_told(workflow: dict[str, Any]) -> None:
    triggers = workflow["on"]
    assert list(triggers) == ["workflow_dispatch"]
    assert triggers["workflow_dispatch"]["inputs"]["publish"]["default"] is False


def test_only_jobs_that_wait_for_approval_publish_and_only_from_a_tag(workflow: dict[str, Any]) -> None:
    for name, job in workflow["jobs"].items():
        text = yaml.safe_dump(job)
        publishes = "push: true" in text or "npm publish" in text or "pypi-publish" in text
        assert publishes == (name in _PUBLISHES)
        if publishes:
            assert job["environment"] == "release"
            assert job["if"] == "inputs.publish && github.ref_type == 'tag'"
            assert set(job["needs"]) == {"packages", "image"}


def test_what_is_built_was_checked_tested_and_audited_before(workflow: dict[str, Any]) -> None:
    jobs = workflow["jobs"]
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == ["make check test", "make audit"]
    assert {jobs[name]["needs"] for name in ("packages", "image")} == {"check"}


def test_the_image_is_built_for_two_architectures_with_provenance_and_a_bill_of_materials(
    workflow: dict[str, Any],
) -> None:
    for name in ("image", "publish-image"):
        built = [step["with"] for step in workflow["jobs"][name]["steps"] if "build-push" in step.get("uses", "")]
        assert [step["platforms"] for step in built] == ["linux/amd64,linux/arm64"]
        assert [(step["provenance"], step["sbom"]) for step in built] == [("mode=max", True)]


def test_a_job_may_do_no_more_than_read_unless_it_says_so_and_keeps_no_credential(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "timeout-minutes" in job
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}


def test_the_workflow_names_no_host() -> None:
    assert re.findall(r"https?://|\b[\w-]+\.(?:io|org|com|dev)\b", _TEXT) == []
