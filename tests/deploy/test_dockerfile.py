"""The images: what they are built from, what they run and as whom. ``test_image_steps.py`` runs their install steps."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.commands import SETTINGS, refusal
from tests.deploy.dockerfile import DOCKERFILES, ROOT, Stage, read_stages

_BUILD_TOOLS = re.compile(r"\b(apt|apt-get|apk|dnf|gcc|make|curl|wget|git|pip install)\b")
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|(?<!PYTHON)KEY")


@pytest.fixture(params=DOCKERFILES, ids=lambda path: str(path.relative_to(ROOT)))
def dockerfile(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def stages(dockerfile: Path) -> list[Stage]:
    return read_stages(dockerfile)


@pytest.fixture(scope="module")
def image() -> Stage:
    """The last stage of the service's own image."""
    return read_stages()[-1]


def test_both_stages_start_from_one_python_that_the_project_supports(stages: list[Stage]) -> None:
    build, last = (stage.last("FROM").words for stage in stages)
    assert re.fullmatch(r"python:3\.(11|12|13|14)-slim", build[0])
    assert last == build[:1], "the environment works only on the Python it was made with"


def test_what_changes_least_is_installed_first(stages: list[Stage]) -> None:
    steps = [(each.name, each.value) for each in stages[0] if each.name in {"RUN", "COPY"}]
    kinds = [
        "venv" if " -m venv " in value
        else "copy lock" if name == "COPY" and "deploy/lock/" in value
        else "copy" if name == "COPY"
        else "install locked" if "--require-hashes" in value
        else "install" if "pip install" in value
        else "remove pip" if re.search(r"pip uninstall .*\bpip$", value)
        else value
        for name, value in steps
    ]  # fmt: skip
    assert list(dict.fromkeys(kinds)) == ["venv", "copy lock", "install locked", "copy", "install", "remove pip"]


def test_every_package_is_installed_by_its_hash_and_only_the_project_without(stages: list[Stage]) -> None:
    installs = [run.words for stage in stages for run in stage.all("RUN") if "pip install" in run.value]
    assert len(installs) == 2
    for words in installs:
        assert "--no-deps" in words
        assert "--require-hashes" in words or ("--no-build-isolation" in words and words[-1].startswith(".")), words


def test_the_last_stage_installs_nothing_and_has_no_pip(stages: list[Stage]) -> None:
    runs = [run.value for run in stages[-1].all("RUN")]
    assert not [run for run in runs if _BUILD_TOOLS.search(run)]
    assert "python -m pip uninstall" in runs[0]


def test_the_environment_is_copied_to_the_path_it_was_made_at(stages: list[Stage]) -> None:
    build, last = stages
    made = build.all("RUN")[0].words[-1]
    (copy,) = last.all("COPY")
    assert copy.words == [f"--from={build.last('FROM').words[-1]}", made, made]
    assert last.environment["PATH"].startswith(f"{made}/bin:")


def test_an_image_runs_as_a_numbered_user_who_owns_the_volume_alone(stages: list[Stage]) -> None:
    last = stages[-1]
    user, group = last.last("USER").value.split(":")
    assert re.fullmatch(r"[1-9]\d{3,}", user)
    assert not [each for each in last[last.index(last.last("USER")) :] if each.name in {"RUN", "COPY", "ADD"}]
    (volume,) = last.last("VOLUME").json
    assert f"install -d --owner={user} --group={group} --mode=0700 {volume}" in last.all("RUN")[0].value
    assert volume in {last.environment.get("DATA_DIR"), *last.command}


def test_an_image_runs_its_command_without_a_shell(stages: list[Stage]) -> None:
    assert stages[-1].command[0].startswith("memory-gateway")


def test_no_secret_is_built_in(dockerfile: Path, stages: list[Stage]) -> None:
    assert not _SECRET.search(" ".join(each.value for stage in stages for each in stage if each.name in {"ARG", "ENV"}))
    beside = dockerfile.with_name("Dockerfile.dockerignore")
    ignored = (beside if beside.exists() else ROOT / ".dockerignore").read_text(encoding="utf-8")
    everything, *others = [line for line in ignored.splitlines() if line and not line.startswith("#")]
    sent = {line.removeprefix("!") for line in others if line.startswith("!")}
    assert everything == "*"
    assert {line for line in others if not line.startswith("!")} <= {"**/__pycache__"}
    copied = {source for copy in stages[0].all("COPY") for source in copy.words[:-1]}
    assert all(any(f"{path}/".startswith(f"{source}/") for source in copied) for path in sent), "nothing else is sent"
    assert all(any(f"{path}/".startswith(f"{source}/") for path in sent) for source in copied), "all of it is sent"
    assert all((ROOT / source).exists() for source in sent)


def test_an_image_sets_nothing_that_has_no_meaning(stages: list[Stage]) -> None:
    names = stages[-1].environment
    assert all(name in SETTINGS or name.startswith("PYTHON") or name == "PATH" for name in names)


def test_the_service_is_started_and_listens_outside_the_container(image: Stage) -> None:
    assert image.command == ["memory-gateway", "serve"]
    assert refusal(image.command[1:]) is None
    assert image.environment.keys() & SETTINGS == {"HOST", "PORT", "DATA_DIR"}
    assert image.environment["HOST"] == "0.0.0.0"  # noqa: S104 - inside a container
    assert image.last("EXPOSE").value == image.environment["PORT"]


def test_the_service_is_asked_whether_it_is_alive_with_what_the_image_has(image: Stage) -> None:
    check = image.last("HEALTHCHECK").json
    assert check[0] == "python"
    assert "/healthz" in check[-1]
    imported = re.findall(r"import ([\w., ]+);", check[-1])
    assert imported == ["http.client, os"], "the standard library alone"


def test_the_image_installs_what_make_installs() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not here")
    told = [make, "--dry-run", "--always-make", ".venv/runtime"]
    printed = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    locked = {word for run in read_stages()[0].all("RUN") for word in run.words if word.startswith("deploy/lock/")}
    # Spans are exported where an operator sets where to; the second model is installed where LANGUAGES asks for it.
    extra = {"deploy/lock/traces.txt", "deploy/lock/model-multilingual.txt"}
    assert locked - extra == set(re.findall(r"deploy/lock/\S+\.txt", printed)) - {"deploy/lock/uv.txt"}
    assert extra < locked


def test_the_double_s_image_installs_the_double_and_not_the_service() -> None:
    build = read_stages(ROOT / "double" / "Dockerfile")[0]
    assert build.all("RUN")[2].words[-2:] == ["--no-build-isolation", "./double"]
    assert [copy.words[:-1] for copy in build.all("COPY")] == [["deploy/lock/runtime.txt"], ["double"]]
