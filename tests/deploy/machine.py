"""Runs a Dockerfile's steps without docker, in a directory that stands for the file system of the image.

The base image's Python is a copy of the one that PYTHON names, or of the one that runs the tests.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from app.settings import Settings
from tests.deploy.dockerfile import ROOT, Instruction, Stage, sent

_OURS = re.compile(r"(?<![\w./-])/(?=(?:src|opt|data)\b)")
"""The beginning of an absolute path that the Dockerfile makes; other paths are this machine's."""
_LEFT_OUT = {name.upper() for name in Settings.model_fields} | {"ENV_FILE", "VIRTUAL_ENV", "PYTHONPATH"}


class Machine:
    """A directory, a Python of its own in the place of the base image's, and what the steps have set so far."""

    def __init__(self, directory: Path) -> None:
        """Make the Python and copy what docker would be sent."""
        self.root = directory / "image"
        self._context = directory / "context"
        base = _copy_python(os.environ.get("PYTHON", sys.executable), directory / "base")
        for path in sent():
            (self._context / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self._context / path)
        kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
        self._at_first = kept | {
            "PATH": f"{base / 'bin'}:/usr/bin:/bin",
            "LD_LIBRARY_PATH": str(base / "lib"),
            "TMPDIR": str(directory),
        }
        self.environment = dict(self._at_first)
        self.user: int | None = None
        self._work = self.root
        self._nowhere = directory / "nowhere"
        self._nowhere.mkdir(mode=0o555)

    def build(self, stages: Sequence[Stage]) -> None:
        """Do every stage; what a stage copies from an earlier one stays where it is, the rest of that goes."""
        for stage in stages:
            self._work, self.environment = self.root, dict(self._at_first)
            for instruction in stage.instructions:
                self._do(instruction)
        shutil.rmtree(self.root / "src")
        shutil.rmtree(self._context)

    def start(self, command: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a command as a container would: as the image's user, in its environment, in an empty directory."""
        nowhere = self._nowhere
        return subprocess.Popen(
            [self._mapped(word) for word in command],
            cwd=nowhere,
            env=self.environment | {"TMPDIR": str(nowhere), "HOME": str(nowhere)} | environment,
            user=self.user,
            group=self.user,
            extra_groups=[],
        )

    def run(self, command: Sequence[str], **environment: str) -> int:
        """Run such a command and return its exit code."""
        with self.start(command, **environment) as process:
            return process.wait(60)

    def files(self) -> dict[Path, int]:
        """Return when each file outside the volume was last written."""
        data = self.root / "data"
        return {path: path.lstat().st_mtime_ns for path in self.root.rglob("*") if data not in (path, *path.parents)}

    def _do(self, instruction: Instruction) -> None:
        if instruction.name == "WORKDIR":
            self._work = Path(self._mapped(instruction.value))
            self._work.mkdir(parents=True, exist_ok=True)
        elif instruction.name == "ENV":
            for name, value in instruction.environment.items():
                self.environment[name] = Template(self._mapped(value)).substitute(self.environment)
        elif instruction.name == "RUN":
            command = self._mapped(instruction.value)
            subprocess.run(["/bin/sh", "-c", command], cwd=self._work, env=self.environment, check=True)
        elif instruction.name == "COPY":
            self._copy(instruction)
        elif instruction.name == "USER":
            self.user = int(instruction.value.split(":")[0])

    def _copy(self, instruction: Instruction) -> None:
        *sources, target = instruction.arguments
        if any(word.startswith("--from=") for word in instruction.words):
            assert sources == [target], "a stage is copied from to the same path"
            return
        for source in sources:
            place = self._work / target
            if (self._context / source).is_dir():
                shutil.copytree(self._context / source, place, dirs_exist_ok=True)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(self._context / source, place)

    def _mapped(self, text: str) -> str:
        return _OURS.sub(f"{self.root}/", text)


def _copy_python(python: str, target: Path) -> Path:
    """Copy a Python without its packages, so that every user can run it and its pip can be removed."""
    ask = "import sys, sysconfig; print(sys._base_executable, sysconfig.get_path('stdlib'))"
    told = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    executable, library = (Path(path).resolve() for path in told)
    (target / "bin").mkdir(parents=True)
    shutil.copy(executable, target / "bin" / "python")
    left_out = shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__")
    shutil.copytree(library, target / "lib" / library.name, ignore=left_out)
    for shared in library.parent.glob("libpython3*.so*"):
        shutil.copy(shared, target / "lib")
    subprocess.run([target / "bin" / "python", "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    return target
