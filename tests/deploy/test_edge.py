"""The Worker of deploy/edge: its size, its configurations and its README. tests/conformance runs it."""

import json
import re
from typing import Any

import pytest

from app.adapters.cloudflare.vectorize import SCOPE_TYPES
from tests.deploy.dockerfile import ROOT

EDGE = ROOT / "deploy" / "edge"
CONFIGURATIONS = ("wrangler.jsonc", "wrangler.container.jsonc")
README = (EDGE / "README.md").read_text(encoding="utf-8")
CONTAINER = (EDGE / "src" / "container.ts").read_text(encoding="utf-8")


def configuration(name: str) -> Any:
    text = (EDGE / name).read_text(encoding="utf-8")
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def test_it_is_small() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (EDGE / "src").iterdir()) < 400


def test_it_is_deployed_with_what_the_tests_run_it_with() -> None:
    package = json.loads((EDGE / "package.json").read_text(encoding="utf-8"))
    tested = json.loads((ROOT / "tests" / "conformance" / "node" / "package.json").read_text(encoding="utf-8"))
    wanted = package["dependencies"] | package["devDependencies"]
    assert wanted == {name: tested["devDependencies"][name] for name in wanted}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_binds_what_it_names(name: str) -> None:
    config = configuration(name)
    assert (EDGE / config["main"]).is_file()
    databases = {each["database_id"]: each["binding"] for each in config["d1_databases"]}
    assert config["vars"]["DATABASES"] == databases
    indexes = {each["index_name"]: each["binding"] for each in config["vectorize"]}
    assert {index: each["binding"] for index, each in config["vars"]["INDEXES"].items()} == indexes
    assert all(each["metadata"] == SCOPE_TYPES for each in config["vars"]["INDEXES"].values())
    assert "<database id>" in databases
    assert "<index name>" in indexes


def test_the_readme_s_example_of_a_shard_binds_what_it_names() -> None:
    (example,) = re.findall(r"```json\n(\"d1_databases\".*?)```", README, re.DOTALL)
    config = json.loads(f"{{{example}}}")
    databases = {each["database_id"]: each["binding"] for each in config["d1_databases"]}
    assert config["vars"]["DATABASES"] == databases
    assert len(set(databases.values())) == len(databases) == 2
    indexes = {each["index_name"]: each["binding"] for each in config["vectorize"]}
    assert {index: each["binding"] for index, each in config["vars"]["INDEXES"].items()} == indexes
    assert all(each["metadata"] == SCOPE_TYPES for each in config["vars"]["INDEXES"].values())


def test_the_container_is_told_which_database_has_the_directory() -> None:
    config = configuration("wrangler.container.jsonc")
    (first, *_) = config["d1_databases"]
    assert config["vars"]["SETTINGS"]["CLOUDFLARE_D1_DATABASE_ID"] == first["database_id"]


def test_no_secret_stands_in_a_configuration() -> None:
    for name in CONFIGURATIONS:
        assert not re.search(r"SECRET|TOKEN|KEY", json.dumps(configuration(name)))


def test_the_container_is_the_image_as_it_is_and_prunes_on_sundays() -> None:
    config = configuration("wrangler.container.jsonc")
    (container,) = config["containers"]
    assert (EDGE / container["image"]).resolve() == ROOT / "Dockerfile"
    assert (EDGE / container["image_build_context"]).resolve() == ROOT
    assert f"class {container['class_name']} extends Container" in CONTAINER
    assert config["triggers"]["crons"] == ["0 3 * * SUN"]
    assert "http://${HOST}/client/v4" in CONTAINER
    assert 'const HOST = "memory.internal"' in CONTAINER
    assert 'ALLOWED_HOSTS: "*"' in CONTAINER, "the Worker passes its own public name on"
    assert "triggers" not in configuration("wrangler.jsonc")


@pytest.mark.parametrize("path", ["/metrics", "/readyz", "/healthz", "/metrics/", "/%6Detrics", "/metrics%2F", "/~x"])
def test_what_asks_for_no_credential_is_not_passed_on(path: str) -> None:
    assert not public().match(path)


@pytest.mark.parametrize(
    "path", ["/", "/store", "/recall", "/memories/01K", "/mcp", "/client/v4/accounts", "/openapi.json"]
)
def test_everything_else_is_passed_on(path: str) -> None:
    assert public().match(path)


def public() -> re.Pattern[str]:
    (written,) = re.findall(r"const PUBLIC = /(.*)/;", CONTAINER)
    return re.compile(written.replace(r"\/", "/"), re.ASCII)


def test_the_readme_names_every_file_setting_and_route() -> None:
    for name in (
        *CONFIGURATIONS,
        "src/container.ts",
        "CLOUDFLARE_D1_READS",
        "REPORT_CALLS",
        "EDGE_SECRET",
        "AUTH_SECRETS",
        "MODELS",
    ):
        assert f"`{name}`" in README or name in README
    for route in ("GET /capabilities", "POST /recall-fused"):
        assert f"`{route}`" in README
