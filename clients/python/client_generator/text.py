"""Writes docstrings."""

import re
import textwrap
from collections.abc import Mapping

_WIDTH = 120


def docstring(text: str, sections: Mapping[str, Mapping[str, str]], indent: str = "    ") -> str:
    """Return a docstring of a text and of sections such as ``Args``, each of names with what is said of them."""
    parts = [_paragraph(each, indent) for each in _in_python(text).strip().split("\n\n")]
    parts[0] = _summary(_in_python(text).strip().split("\n\n")[0], indent)
    for title, said in sections.items():
        if said:
            lines = [_wrapped(f"{name}: {_in_python(what)}", indent + "    ") for name, what in said.items()]
            parts.append("\n".join([f"{indent}{title}:", *lines]))
    written = "\n\n".join(parts).strip()
    raw = "r" if "\\" in written else ""
    closing = '"""' if len(parts) == 1 and "\n" not in written else f'\n{indent}"""'
    return f'{indent}{raw}"""{written}{closing}'


def _summary(text: str, indent: str) -> str:
    """Return the first paragraph; one that is longer than a line goes on, after its first sentence, as another."""
    room = _WIDTH - len(indent) - 6
    text = " ".join(text.split())
    if len(text) <= room:
        return text
    first, _, rest = text.partition(". ")
    if not rest or len(first) >= room:
        first, _, rest = text.partition(", ")
        rest = rest[:1].upper() + rest[1:]
    return f"{first}.\n\n{_paragraph(rest, indent)}"


def _paragraph(text: str, indent: str) -> str:
    return textwrap.fill(
        " ".join(text.split()), _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        " ".join(text.split()), _WIDTH, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False
    )


def _in_python(text: str) -> str:
    """Return Markdown's code as docstrings have it."""
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
