"""What a language model would answer honestly, by simple rules: for the stages by which Memory Gateway asks one.

A stage is the name of the schema that is asked for. Data stands between lines ``<<<mark title`` and ``mark>>>``.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

_FENCED = re.compile(r"^<<<(\S+) ([^\n]*)\n(.*?)\n?^\1>>>", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^\[(\d+)\] [^:\n]*, user: (.*?)(?=^\[\d+\] |\Z)", re.DOTALL | re.MULTILINE)
_MEMORY = re.compile(r"^\((\d+)\) (?:from \[[^\]\n]*\]: )?([^\n]*)", re.MULTILINE)
_COMPUTED = re.compile(r" \[\d{4}-\d{2}-\d{2}[^\]\n]*\]")
_HEAD = re.compile(r"\d{4}-\d{2}-\d{2}[^:\n]*: ")
_WORD = re.compile(r"\w+")
_LEAST_WORDS = 3
_MAX_CHARACTERS = 1000
_THIRD_PERSON = [
    (re.compile(r"\bI(?: am|'m)\b"), "the user is"),
    (re.compile(r"\bI(?: have|'ve)\b"), "the user has"),
    (re.compile(r"\bI\b"), "the user"),
    (re.compile(r"\b[Mm]e\b"), "the user"),
    (re.compile(r"\b(?:[Mm]y|[Oo]ur)\b"), "the user's"),
]

Data = Mapping[str, str]
"""What a request holds between fences, by title."""


def honest(stage: str, prompt: str) -> dict[str, Any] | None:
    """Return what a stage's schema asks for, read from a prompt; None where the stage is not known."""
    rule = _RULES.get(stage)
    return None if rule is None else rule({title: text for _, title, text in _FENCED.findall(prompt)})


def _extract(data: Data) -> dict[str, Any]:
    """Make a memory of each line in which a user states something."""
    found = []
    for number, text in _LINE.findall(data.get("messages", "")):
        said = " ".join(_COMPUTED.sub("", text).split())[:_MAX_CHARACTERS]
        if len(said.split()) >= _LEAST_WORDS and not said.endswith("?"):
            found.append({"statement": _in_third_person(said), "lines": [int(number)], "day": ""})
    return {"memories": found}


def _detail(data: Data) -> dict[str, Any]:
    """Make a memory of each of these lines that holds a digit."""
    whole: list[dict[str, Any]] = _extract(data)["memories"]
    return {"memories": [memory for memory in whole if any(letter.isdigit() for letter in memory["statement"])]}


def _verify(data: Data) -> dict[str, Any]:
    """Let everything pass."""
    numbers = [int(number) for number, _ in _MEMORY.findall(data.get("memories", ""))]
    return {"passed": numbers, "corrected": [], "dropped": []}


def _classify(data: Data) -> dict[str, Any]:
    """Call everything an event, to be found by its words."""
    memories = _MEMORY.findall(data.get("memories", ""))
    return {
        "memories": [
            {"memory": int(number), "type": "event", "topic": "", "queries": _queries(text)}
            for number, text in memories
        ]
    }


def _analyse(data: Data) -> dict[str, Any]:
    """Look for the question's own words."""
    question = data.get("question", "").strip()
    return {"topics": [], "synonyms": _WORD.findall(question)[:12], "statement": question[:300]}


def _synthesise(data: Data) -> dict[str, Any]:
    """Answer with the first candidate."""
    memories = _MEMORY.findall(data.get("memories", ""))
    return {
        "sentences": [
            {"text": _COMPUTED.sub("", _HEAD.sub("", text, count=1)), "memories": [int(number)]}
            for number, text in memories[:1]
        ]
    }


def _in_third_person(said: str) -> str:
    told = said
    for pattern, word in _THIRD_PERSON:
        told = pattern.sub(word, told)
    told = told if told != said else f"The user: {said}"
    return told[:1].upper() + told[1:]


def _queries(text: str) -> list[str]:
    words = _WORD.findall(text) or ["memory"]
    return [" ".join(words[:8]), " ".join(words[-4:]), " ".join(words[::2][:8])]


_RULES: Mapping[str, Callable[[Data], dict[str, Any]]] = {
    "extract": _extract,
    "detail": _detail,
    "verify": _verify,
    "classify": _classify,
    "analyse": _analyse,
    "synthesise": _synthesise,
}
