"""Dockerfiles, parsed into stages of instructions; what docker makes of them is not imitated."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCKERFILES = sorted([*ROOT.glob("Dockerfile"), *ROOT.glob("*/Dockerfile")])
IMAGE = ROOT / "Dockerfile"
"""The service's own."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, its continued lines joined: ``RUN`` and what follows."""

    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """The value as a shell splits it."""
        return shlex.split(self.value)

    @property
    def json(self) -> Any:
        """The JSON list of an instruction in exec form; of a HEALTHCHECK, its command."""
        return json.loads(self.value[self.value.index("[") :])


class Stage(list[Instruction]):
    """The instructions of one stage, its ``FROM`` first."""

    def all(self, name: str) -> list[Instruction]:
        """Return every instruction of a kind, in order."""
        return [each for each in self if each.name == name]

    def last(self, name: str) -> Instruction:
        """Return the instruction of a kind that counts."""
        return self.all(name)[-1]

    @property
    def environment(self) -> dict[str, str]:
        """Everything that ENV sets."""
        return dict(word.split("=", 1) for env in self.all("ENV") for word in env.words)

    @property
    def command(self) -> list[str]:
        """What a container runs when it is told nothing else."""
        return [*self.last("ENTRYPOINT").json, *self.last("CMD").json]


def read_stages(path: Path = IMAGE) -> list[Stage]:
    """Return the stages in order; what comes before the first FROM is put in its place (ARG)."""
    text = re.sub(r"(?m)^\s*#.*\n", "", path.read_text(encoding="utf-8"))
    stages: list[Stage] = []
    arguments: dict[str, str] = {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "ARG" and not stages:
            argument, _, default = value.partition("=")
            arguments[argument] = default
        elif name == "FROM":
            value = re.sub(r"\$\{(\w+)\}", lambda match: arguments[match[1]], value)
            stages.append(Stage([Instruction(name, value)]))
        elif name:
            stages[-1].append(Instruction(name, value.strip()))
    return stages
