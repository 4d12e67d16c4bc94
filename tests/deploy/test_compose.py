"""``compose.yaml``: every service closed as far as it can be, and set up with what there is."""

import re
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from app.settings import Settings
from tests.deploy.commands import SETTINGS, refusal
from tests.deploy.dockerfile import ROOT, Stage, read_stages

_SECRETS = "test=a secret of the tests that is long enough to sign"


def _read() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return read


_FILE = _read()
_SERVICES: dict[str, dict[str, Any]] = _FILE["services"]
_GATEWAYS = ["gateway", "gateway-cloudflare", "gateway-rehearsal"]
every_service = pytest.mark.parametrize("service", _SERVICES.values(), ids=_SERVICES)


@pytest.fixture(scope="module")
def image() -> Stage:
    return read_stages()[-1]


def _image_of(service: dict[str, Any]) -> Stage:
    """Return the last stage of what a service is built from."""
    context = ROOT / service["build"]["context"]
    return read_stages(context / service["build"].get("dockerfile", "Dockerfile"))[-1]


def _mounts(service: dict[str, Any]) -> dict[str, str]:
    """Return where each volume is mounted, by its name, with ``:ro`` where it is."""
    return dict(volume.split(":", 1) for volume in service.get("volumes", []))


@every_service
def test_a_service_has_a_read_only_root_and_no_privileges(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.keys() & {"privileged", "cap_add", "user", "pid", "ipc", "network_mode", "devices"}


@every_service
def test_a_service_writes_to_tmp_and_to_the_directory_the_image_has_for_it(service: dict[str, Any]) -> None:
    assert service["tmpfs"] == ["/tmp"]  # noqa: S108 - a file system of the container's own
    for name, target in _mounts(service).items():
        assert name in _FILE["volumes"], "a named volume, not a directory of the host"
        assert _image_of(service).last("VOLUME").json == [target.removesuffix(":ro")]


@every_service
def test_a_service_is_reached_from_this_machine_only(service: dict[str, Any]) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@every_service
def test_every_variable_of_a_service_is_a_setting(service: dict[str, Any]) -> None:
    assert set(service.get("environment", {})) <= SETTINGS


@every_service
def test_a_service_runs_a_command_there_is(service: dict[str, Any]) -> None:
    assert (ROOT / service["build"]["context"]).resolve() == ROOT
    entry, *default = _image_of(service).command
    assert service["image"] == entry, "an image is named after what it runs"
    command = service.get("command", default)
    assert isinstance(command, list), "in exec form"
    before = {"memory-gateway": [], "memory-gateway-double": ["double"]}
    assert refusal(before[entry] + command) is None


def test_the_double_alone_has_an_image_of_its_own() -> None:
    assert [name for name, service in _SERVICES.items() if service["image"] != "memory-gateway"] == ["double"]


def test_only_the_embedded_service_starts_when_nothing_else_is_asked_for() -> None:
    profiles = {name: service.get("profiles") for name, service in _SERVICES.items()}
    assert profiles == {
        "gateway": None,
        "gateway-cloudflare": ["cloudflare"],
        "prune": ["prune"],
        "prune-cloudflare": ["prune-cloudflare"],
        "double": ["rehearsal"],
        "provision": ["rehearsal"],
        "gateway-rehearsal": ["rehearsal"],
    }


def test_every_setting_is_passed_on_but_those_that_are_the_image_s_own() -> None:
    own = {"HOST", "PORT", "DATA_DIR", "LOCAL_MODEL_DIR", "ENV_FILE"}
    account = {name for name in SETTINGS if name.startswith(("CLOUDFLARE_", "R2_"))}
    given = {name: set(service.get("environment", {})) for name, service in _SERVICES.items()}
    assert given["gateway"] == SETTINGS - own - account
    assert given["gateway-cloudflare"] == SETTINGS - own
    assert given["prune"] == given["gateway"]
    assert given["prune-cloudflare"] == given["gateway-cloudflare"]
    assert given["gateway-rehearsal"] >= SETTINGS - own - account


def test_the_embedded_service_stays_embedded_and_keeps_its_data() -> None:
    assert not [name for name in _SERVICES["gateway"]["environment"] if name.startswith("CLOUDFLARE_")]
    assert set(_SERVICES["gateway"]["environment"].values()) == {None}, "the shell's, or those of .env"
    assert _mounts(_SERVICES["gateway"]) == {"gateway": "/data"}


def test_what_is_too_old_is_deleted_every_week_of_the_data_that_is_served() -> None:
    assert _mounts(_SERVICES["prune"]) == _mounts(_SERVICES["gateway"])
    for name in ("prune", "prune-cloudflare"):
        assert _SERVICES[name]["command"] == ["prune", "--weekly"]
        assert _SERVICES[name]["restart"] == "unless-stopped"
        assert _SERVICES[name]["healthcheck"] == {"disable": True}, "it answers no request"


def test_without_an_account_the_service_on_cloudflare_refuses_to_start_and_names_the_setting() -> None:
    without = _SERVICES["gateway-cloudflare"]["environment"]["CLOUDFLARE_ACCOUNT_ID"]
    default = re.fullmatch(r"\$\{CLOUDFLARE_ACCOUNT_ID:-(.+)\}", without)
    assert default is not None
    with pytest.raises(ValidationError, match="cloudflare_account_id"):
        Settings(_env_file=None, cloudflare_account_id=default[1])


@pytest.mark.parametrize("name", _GATEWAYS)
def test_a_gateway_is_asked_after_as_the_image_says(name: str, image: Stage) -> None:
    assert _SERVICES[name]["healthcheck"]["test"] == ["CMD", *image.last("HEALTHCHECK").json]


def test_a_gateway_is_given_longer_to_stop_than_its_requests_have_to_end() -> None:
    assert {_SERVICES[name]["stop_grace_period"] for name in _GATEWAYS} == {"20s"}


def test_the_rehearsal_s_gateway_starts_after_the_account_was_made_ready() -> None:
    assert _SERVICES["provision"]["depends_on"] == {"double": {"condition": "service_healthy"}}
    assert _SERVICES["gateway-rehearsal"]["depends_on"] == {
        "provision": {"condition": "service_completed_successfully"}
    }


def test_the_gateway_reads_the_database_s_id_where_provision_writes_it() -> None:
    provision, gateway = _SERVICES["provision"], _SERVICES["gateway-rehearsal"]
    written = provision["command"][provision["command"].index("--write-env") + 1]
    assert gateway["environment"]["ENV_FILE"] == written
    assert _mounts(provision) == {"provisioned": "/data"}
    assert _mounts(gateway) == {"provisioned": "/data:ro"}
    assert written.startswith("/data/")


def test_the_rehearsal_s_settings_are_those_of_a_service_on_the_double() -> None:
    environment = _given("gateway-rehearsal")
    given: dict[str, Any] = {name.lower(): value for name, value in environment.items()}
    settings = Settings(_env_file=None, auth_secrets=_SECRETS, **given)
    assert settings.on_cloudflare
    assert settings.cloudflare_account_id == "0" * 32
    assert settings.cloudflare_api_base_url == "http://double:8787/client/v4"
    assert settings.openai_base_url == "http://double:8787/v1"
    assert _given("provision").items() <= environment.items(), "the index is that of the gateway's embedder"


def test_no_secret_that_signs_is_in_the_file() -> None:
    assert {service.get("environment", {}).get("AUTH_SECRETS") for service in _SERVICES.values()} == {None}


def _given(name: str) -> dict[str, Any]:
    """Return the variables of a service that the file itself sets."""
    return {name: value for name, value in _SERVICES[name]["environment"].items() if value is not None}
