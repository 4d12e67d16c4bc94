"""What ``deploy/README.md`` says of upgrades, backups and Kubernetes: its lines run as they are written."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.deploy.commands import shell_lines
from tests.deploy.dockerfile import ROOT

README = (ROOT / "deploy" / "README.md").read_text("utf-8")
BIN = Path(sys.executable).parent
SECRET = "test=a-secret-for-tests-of-forty-characters-x"
KUBERNETES = ROOT / "deploy" / "kubernetes"


def section(heading: str) -> str:
    level, _, _ = heading.partition(" ")
    return re.split(rf"^#{{2,{len(level)}}} ", README.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(heading: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", section(heading), re.MULTILINE | re.DOTALL)


def run(script: str, folder: Path) -> str:
    """Run lines in a shell until one fails, as an operator of the embedded default, and return what they print."""
    settings = {"EMBEDDER": "hashing", "READER": "none", "AUTH_SECRETS": SECRET, "DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        ["/bin/bash", "-eu", "-c", script],
        cwd=folder,
        env=os.environ | settings | {"PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def own(heading: str) -> list[str]:
    """Return the blocks that need neither docker nor a cluster nor an account."""
    return [block for block in blocks(heading) if not re.search(r"\b(docker|kubectl|npx)\b", block)]


@pytest.mark.thorough
def test_the_lines_of_upgrade_and_of_backup_and_restore_do_what_they_say(tmp_path: Path) -> None:
    run("memory-gateway store --tenant acme 'kept before'", tmp_path)
    (upgrade,) = own("### Upgrade")
    assert "The backup is in before-upgrade" in run(upgrade, tmp_path)
    backup, restore, export = own("### Backup and restore")
    run(backup, tmp_path)
    run("memory-gateway store --tenant acme 'stored after the backup'", tmp_path)
    run(restore, tmp_path)
    recall = "memory-gateway recall --tenant acme"
    assert "kept before" in run(f"{recall} 'kept before'", tmp_path)
    assert "stored after" not in run(f"{recall} 'stored after the backup'", tmp_path)
    assert "The file is whole." in run(export, tmp_path)


def test_a_command_on_kubernetes_names_what_the_manifests_have() -> None:
    lines = [line for line in shell_lines(README) if line.startswith("kubectl ")]
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[words.index("--namespace") + 1] == "memory" if words[1:3] != ["create", "namespace"] else True
        if "--kustomize" in words:
            assert (ROOT / words[words.index("--kustomize") + 1] / "kustomization.yaml").is_file()
        for shape in ("embedded", "cloudflare"):
            (deployment,) = yaml.safe_load_all((KUBERNETES / shape / "deployment.yaml").read_text("utf-8"))
            if "deployment/memory-gateway" in words:
                assert deployment["metadata"]["name"] == "memory-gateway"
            if "--container" in words:
                names = [each["name"] for each in deployment["spec"]["template"]["spec"]["containers"]]
                assert words[words.index("--container") + 1] in names
            if "--from-env-file" in words:
                assert "memory-gateway" in [
                    source["secretRef"]["name"]
                    for each in deployment["spec"]["template"]["spec"]["containers"]
                    for source in each["envFrom"]
                ]
