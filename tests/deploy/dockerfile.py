"""The Dockerfile and .dockerignore, read as docker reads them, as far as ours go."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, its lines joined: ``RUN`` and what follows."""

    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """The value as a shell splits it."""
        return shlex.split(self.value)

    @property
    def arguments(self) -> list[str]:
        """The words that are not options."""
        return [word for word in self.words if not word.startswith("--")]

    @property
    def exec_form(self) -> list[str] | None:
        """The value as a JSON list; None in shell form. Of a HEALTHCHECK, its command."""
        try:
            read = json.loads(self.value[self.value.index("[") :])
        except ValueError:
            return None
        return read if isinstance(read, list) else None

    @property
    def environment(self) -> dict[str, str]:
        """The variables of an ENV."""
        return dict(word.split("=", 1) for word in self.words)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: the image it starts from, its name, what it does."""

    base: str
    name: str | None
    instructions: list[Instruction] = field(default_factory=list)

    def all(self, name: str) -> list[Instruction]:
        """Every instruction of a kind, in order."""
        return [instruction for instruction in self.instructions if instruction.name == name]

    def last(self, name: str) -> Instruction:
        """The instruction of a kind that counts."""
        return self.all(name)[-1]

    @property
    def environment(self) -> dict[str, str]:
        """Everything that ENV sets."""
        return {key: value for env in self.all("ENV") for key, value in env.environment.items()}

    @property
    def command(self) -> list[str]:
        """What a container runs when it is told nothing else."""
        return [*(self.last("ENTRYPOINT").exec_form or ()), *(self.last("CMD").exec_form or ())]


def read_stages(path: Path = ROOT / "Dockerfile") -> list[Stage]:
    """Read the stages in order."""
    stages: list[Stage] = []
    defaults: dict[str, str] = {}
    for instruction in _instructions(path.read_text(encoding="utf-8")):
        if instruction.name == "ARG" and not stages:
            name, _, value = instruction.value.partition("=")
            defaults[f"${{{name}}}"] = value
        elif instruction.name == "FROM":
            base, *alias = instruction.words
            stages.append(Stage(defaults.get(base, base), alias[1] if alias else None))
        else:
            stages[-1].instructions.append(instruction)
    return stages


def sent(root: Path = ROOT) -> set[str]:
    """Return the files that docker would be sent as its build context."""
    patterns = _ignore_patterns(root / ".dockerignore")
    return set(_sent_below(root, "", patterns))


def _instructions(text: str) -> Iterator[Instruction]:
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*\n", "", text))
    for line in joined.splitlines():
        if line.strip():
            name, _, value = line.strip().partition(" ")
            yield Instruction(name.upper(), value.strip())


@dataclass(frozen=True, slots=True)
class _Pattern:
    text: str
    keeps: bool

    def matches(self, path: str) -> bool:
        """Whether it matches the path or a directory above it."""
        form = re.escape(self.text).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        parts = path.split("/")
        return any(re.fullmatch(form, "/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


def _ignore_patterns(path: Path) -> list[_Pattern]:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        _Pattern(line.removeprefix("!").strip("/"), keeps=line.startswith("!"))
        for line in lines
        if line and not line.startswith("#")
    ]


def _sent_below(directory: Path, prefix: str, patterns: list[_Pattern]) -> Iterator[str]:
    for entry in directory.iterdir():
        path = prefix + entry.name
        matching = [pattern for pattern in patterns if pattern.matches(path)]
        kept = not matching or matching[-1].keeps
        if entry.is_dir():
            if kept or any(pattern.keeps and pattern.text.startswith(f"{path}/") for pattern in patterns):
                yield from _sent_below(entry, f"{path}/", patterns)
        elif kept:
            yield path
