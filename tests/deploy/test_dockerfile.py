"""The image: what it is built from, what it runs and as whom. Its steps are run in ``test_image_steps.py``."""

import re
import shutil
import subprocess

import pytest

from tests.deploy.commands import SETTINGS, refusal
from tests.deploy.dockerfile import ROOT, Stage, read_stages, sent

_BUILD_TOOLS = re.compile(r"\b(apt|apt-get|apk|dnf|gcc|make|curl|wget|git|pip install)\b")
_VENV = "/opt/memory-gateway"


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    return read_stages()


@pytest.fixture(scope="module")
def image(stages: list[Stage]) -> Stage:
    return stages[-1]


@pytest.fixture(scope="module")
def context() -> set[str]:
    return sent()


def test_every_base_image_has_a_tag_that_names_a_python_the_project_supports(stages: list[Stage]) -> None:
    assert len(stages) == 2
    assert all(re.fullmatch(r"python:3\.(11|12|13)-slim", stage.base) for stage in stages)
    assert len({stage.base for stage in stages}) == 1, "the environment works only on the Python it was made with"


def test_the_image_runs_as_a_numbered_user_that_is_not_root(image: Stage) -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", image.last("USER").value)
    after = image.instructions[image.instructions.index(image.last("USER")) :]
    assert not [instruction for instruction in after if instruction.name in {"RUN", "COPY", "ADD"}]


def test_the_last_stage_installs_nothing(image: Stage) -> None:
    assert not [run.value for run in image.all("RUN") if _BUILD_TOOLS.search(run.value)]


def test_pip_is_in_neither_python_of_the_image(stages: list[Stage]) -> None:
    build, image = stages
    assert re.search(rf"{_VENV}/bin/python -m pip uninstall .*\bpip$", build.all("RUN")[-1].value)
    assert "python -m pip uninstall" in image.all("RUN")[0].value


def test_the_environment_is_copied_to_the_path_it_was_made_at(stages: list[Stage]) -> None:
    build, image = stages
    (copy,) = image.all("COPY")
    assert copy.words == [f"--from={build.name}", _VENV, _VENV]
    assert image.environment["PATH"].startswith(f"{_VENV}/bin:")


def test_the_image_runs_the_service_without_a_shell(image: Stage) -> None:
    assert image.command == ["memory-gateway", "serve"]
    assert refusal(image.command[1:]) is None


def test_the_image_says_how_to_ask_whether_it_is_alive_with_what_it_has(image: Stage) -> None:
    check = image.last("HEALTHCHECK").exec_form
    assert check is not None
    assert check[0] == "python"
    assert "/healthz" in check[-1]
    imported = re.findall(r"import ([\w., ]+);", check[-1])
    assert imported == ["http.client, os"], "the standard library alone"


def test_the_image_listens_outside_the_container_and_writes_to_its_volume_alone(image: Stage) -> None:
    set_here = image.environment
    assert (set_here["HOST"], set_here["DATA_DIR"]) == ("0.0.0.0", "/data")  # noqa: S104 - inside a container
    assert image.last("EXPOSE").value == set_here["PORT"]
    assert image.last("VOLUME").exec_form == [set_here["DATA_DIR"]]
    owner = image.last("USER").value.split(":")
    assert f"install -d --owner={owner[0]} --group={owner[1]} --mode=0700 /data" in image.all("RUN")[0].value


def test_the_image_sets_no_setting_but_its_address_and_directory(image: Stage) -> None:
    assert image.environment.keys() & SETTINGS == {"HOST", "PORT", "DATA_DIR"}
    assert all(name in SETTINGS or name.startswith("PYTHON") or name == "PATH" for name in image.environment)


def test_every_package_is_installed_by_its_hash_and_the_project_as_a_package(stages: list[Stage]) -> None:
    pip_installs = [run.words for stage in stages for run in stage.all("RUN") if "pip install" in run.value]
    assert pip_installs
    for words in pip_installs:
        assert "--no-deps" in words
        assert "--require-hashes" in words or words[-2:] == ["--no-build-isolation", "."], words


def test_the_image_installs_what_make_installs(stages: list[Stage]) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not here")
    told = [make, "--dry-run", "--always-make", "PYTHON=python", f"VENV={_VENV}", f"{_VENV}/runtime"]
    printed = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [line.replace("--editable ", "").split() for line in printed if " -m pip " in line or " -m venv " in line]
    done = [run.words for run in stages[0].all("RUN")]
    assert [words for words in done if "uninstall" not in words] == wanted


def test_everything_the_build_copies_is_sent_and_nothing_else(stages: list[Stage], context: set[str]) -> None:
    copied = [source for copy in stages[0].all("COPY") for source in copy.arguments[:-1]]
    assert all(source in context or any(path.startswith(f"{source}/") for path in context) for source in copied)
    assert not {path for path in context if path not in copied and path.split("/")[0] not in copied}


def test_tests_history_environments_data_and_secrets_are_not_sent(context: set[str]) -> None:
    assert {path.split("/")[0] for path in context} == {"app", "deploy", "pyproject.toml", "README.md"}
    assert {path for path in context if path.startswith("deploy/")} == {
        "deploy/lock/model.txt",
        "deploy/lock/runtime.txt",
    }
    assert not {path for path in context if "__pycache__" in path or path.endswith((".pyc", ".sqlite3"))}


def test_every_migration_and_module_is_sent(context: set[str]) -> None:
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "app").rglob("*") if path.is_file()}
    assert {path for path in files if "__pycache__" not in path} == {path for path in context if path[:4] == "app/"}
