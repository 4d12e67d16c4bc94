"""A word stands for one thing: a noun that many rooms name classes by is in the glossary."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import app

ROOT = Path(app.__file__).parent
GLOSSARY = (ROOT.parent / "docs/glossary.md").read_text("utf-8")
ROOMS = 5
"""In so many rooms or more."""


def room(path: Path) -> str:
    """Return the folder of the product that a file lies in; the subjects of services are rooms of their own."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 2 if parts[0] == "services" else 1])


def nouns() -> dict[str, set[str]]:
    """Return the words of class names, each with the rooms that have them."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                for word in re.findall(r"[A-Z][a-z]+", node.name):
                    rooms[word.lower()].add(room(path))
    return rooms


def defined() -> set[str]:
    cells = re.findall(r"^\| ([a-z][^|]*) \|", GLOSSARY, re.MULTILINE)
    bold = re.findall(r"\*\*([a-z ]+)\*\*", GLOSSARY)
    return {word for text in (*cells, *bold) for word in re.findall(r"[a-z]+", text)}


def test_a_noun_of_classes_in_five_rooms_is_in_the_glossary() -> None:
    many = {word for word, rooms in nouns().items() if len(rooms) >= ROOMS}
    assert many
    assert many - defined() - {"word", "meaning"} == set()


def test_the_glossary_says_each_word_once() -> None:
    cells = [word for text in re.findall(r"^\| ([a-z][^|]*) \|", GLOSSARY, re.MULTILINE) for word in text.split(", ")]
    assert [word for word in cells if cells.count(word) > 1 and word != "word"] == []


def test_the_map_of_rooms_names_what_is_there() -> None:
    page = (ROOT.parent / "docs/architecture.md").read_text("utf-8")
    (rooms,) = re.findall(r"^```\n(interfaces .*?)^```", page, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"[a-z_]+(?:\.sql)?", rooms))
    there = {part for path in ROOT.rglob("*") for part in (path.name, path.stem)}
    assert named - there == set()
