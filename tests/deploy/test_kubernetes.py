"""``deploy/kubernetes``: as Kubernetes' schemas have it, closed as far as it can be, and for this image."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.interfaces.server.listener import allowed_hosts
from app.settings import Settings
from tests.deploy.commands import SETTINGS, refusal
from tests.deploy.dockerfile import ROOT, Stage, read_stages
from tests.support.service import serving

FOLDER = ROOT / "deploy" / "kubernetes"
EXAMPLE = FOLDER / "cloudflare" / "secret.example.yaml"
SHAPES = ["embedded", "cloudflare"]
OLDEST, NEWEST = "1.30", "1.37"
"""The versions of Kubernetes whose schemas are asked."""
each_shape = pytest.mark.parametrize("shape", SHAPES)


def documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text("utf-8")) if document is not None]


def resources(folder: Path) -> Iterator[Path]:
    """Yield the files that a kustomization names, and those of the ones that it names."""
    (kustomization,) = documents(folder / "kustomization.yaml")
    for name in kustomization["resources"]:
        path = (folder / name).resolve()
        if path.is_dir():
            yield from resources(path)
        else:
            yield path


def objects(shape: str, kind: str = "") -> list[dict[str, Any]]:
    found = [document for path in resources(FOLDER / shape) for document in documents(path)]
    return [document for document in found if kind in {"", document["kind"]}]


def pods(shape: str) -> list[dict[str, Any]]:
    """Return the templates of all pods."""
    (deployment,) = objects(shape, "Deployment")
    jobs = [job["spec"]["jobTemplate"]["spec"]["template"] for job in objects(shape, "CronJob")]
    return [deployment["spec"]["template"], *jobs]


def containers(shape: str) -> list[dict[str, Any]]:
    return [container for pod in pods(shape) for container in pod["spec"]["containers"]]


def gateway(shape: str) -> dict[str, Any]:
    (found,) = [container for container in containers(shape) if container["name"] == "gateway"]
    return found


@pytest.fixture(scope="module")
def image() -> Stage:
    return read_stages()[-1]


@each_shape
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_object_keeps_to_the_schema_of_its_kind(shape: str, version: str) -> None:
    found = objects(shape)
    assert {"Deployment", "Service", "NetworkPolicy"} <= {each["kind"] for each in found}
    for document in [*found, *documents(EXAMPLE)]:
        kubernetes_validate.validate(document, version, strict=True)


def test_a_mistake_would_be_noticed() -> None:
    (deployment,) = objects("embedded", "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, NEWEST, strict=True)


def test_every_manifest_is_part_of_a_shape() -> None:
    used = {path for shape in SHAPES for path in resources(FOLDER / shape)}
    assert set(FOLDER.rglob("*.yaml")) - used - set(FOLDER.rglob("kustomization.yaml")) == {EXAMPLE}


@each_shape
def test_the_image_is_that_of_this_version(shape: str) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    (kustomization,) = documents(FOLDER / shape / "kustomization.yaml")
    assert kustomization["images"] == [{"name": "memory-gateway", "newName": "memory-gateway", "newTag": version}]
    assert {container["image"] for container in containers(shape)} == {"memory-gateway"}


@each_shape
def test_each_pod_runs_as_the_user_of_the_image_and_is_closed(shape: str, image: Stage) -> None:
    user, group = map(int, image.last("USER").value.split(":"))
    for pod in pods(shape):
        spec = pod["spec"]
        security = spec["securityContext"]
        assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (user, group, True)
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
        assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"}
        assert all(set(volume) <= {"name", "emptyDir", "persistentVolumeClaim"} for volume in spec["volumes"])
    for container in containers(shape):
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]


@each_shape
def test_a_container_runs_a_command_there_is_and_sets_settings_alone(shape: str) -> None:
    for container in containers(shape):
        assert refusal(container["args"]) is None
        assert {variable["name"] for variable in container.get("env", [])} <= SETTINGS
    (example,) = documents(EXAMPLE)
    assert set(example["stringData"]) <= SETTINGS
    assert set(example["stringData"].values()) == {""}


@each_shape
def test_it_writes_where_the_image_has_a_place_for_it(shape: str, image: Stage) -> None:
    (data,) = image.last("VOLUME").json
    for container in containers(shape):
        mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounted == ({data, "/tmp"} if shape == "embedded" else {"/tmp"})  # noqa: S108 - a volume
        folder = next((each["value"] for each in container.get("env", []) if each["name"] == "DATA_DIR"), None)
        assert folder is None if shape == "cloudflare" else str(folder).startswith(f"{data}/")


def test_the_data_of_the_embedded_default_has_one_pod_at_a_time() -> None:
    (deployment,) = objects("embedded", "Deployment")
    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]) == (1, {"type": "Recreate"})
    (claim,) = objects("embedded", "PersistentVolumeClaim")
    (data,) = [each for each in pods("embedded")[0]["spec"]["volumes"] if "persistentVolumeClaim" in each]
    assert data["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert not objects("cloudflare", "PersistentVolumeClaim")


@each_shape
def test_the_service_leads_to_the_port_of_the_image_at_the_pods_that_serve(shape: str, image: Stage) -> None:
    (service,) = objects(shape, "Service")
    (deployment,) = objects(shape, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert deployment["spec"]["selector"]["matchLabels"] == labels
    (port,) = gateway(shape)["ports"]
    assert port["containerPort"] == int(image.environment["PORT"]) == int(image.last("EXPOSE").value)
    (outside,) = service["spec"]["ports"]
    assert outside["targetPort"] == port["name"]
    for other in pods(shape)[1:]:  # of a job, which answers no request
        assert not service["spec"]["selector"].items() <= other["metadata"]["labels"].items()
    for budget in objects(shape, "PodDisruptionBudget"):
        assert budget["spec"]["selector"]["matchLabels"] == labels


@each_shape
def test_a_policy_for_each_direction_is_about_every_pod(shape: str) -> None:
    policies = objects(shape, "NetworkPolicy")
    assert sorted(kind for policy in policies for kind in policy["spec"]["policyTypes"]) == ["Egress", "Ingress"]
    for policy in policies:
        assert all(
            policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
            for pod in pods(shape)
        )
    (calls,) = [policy["spec"]["egress"] for policy in policies if "egress" in policy["spec"]]
    ports = {port["port"] for rule in calls for port in rule["ports"]}
    assert ports == ({53, 443} if shape == "cloudflare" else set())


@each_shape
async def test_the_probes_ask_what_the_service_answers(shape: str, tmp_path: Path) -> None:
    asked = [gateway(shape)[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")]
    assert [probe["path"] for probe in asked] == ["/healthz", "/healthz", "/readyz"]
    async with serving(tmp_path) as service:
        for probe in asked:
            headers = {header["name"]: header["value"] for header in probe["httpHeaders"]}
            assert (await service.client.get(probe["path"], headers=headers)).status_code == 200
            assert headers["Host"] in allowed_hosts(Settings(allowed_hosts=["memory.example"], host="0.0.0.0"))  # noqa: S104 - as in the image
    assert {probe["port"] for probe in asked} == {gateway(shape)["ports"][0]["name"]}
