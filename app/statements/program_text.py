"""Tells program text from prose, because code, settings and log lines state nothing of the speaker."""

import re

_FENCE = re.compile(r"\A[ \t>]*(```+|~~~+)")
_INLINE = re.compile(r"(`{1,3})[^`\n]{1,300}\1")
_MARKS = re.compile(r"[{}()\[\]<>=\\;|&$:/]|,$")
"""What a sentence must have to be looked at for the marks of code."""
_CODE = re.compile(r"[{}\\]|=>|==|::|&&|\|\||->|</|/>|\$\(|\(\)|\w\([\"'\w]+[,)=.\[]|[;,\[(]$|(?<![<>!])=|\bhttp/\d")
"""What prose does not have: brackets of code, assignments, the end of a statement."""
_OPENING = re.compile(
    r"//|/\*|\*/|#!|\$ |>>> |<[a-z!]|(?:-\s+)?[\"'][\w .$-]+[\"']\s*:|(?:get|post|put|patch|delete|head)\s+/"
    r"|(?:import|from|return|const|let|var|def|class|async|await|export|throw|function|sudo|pip|git|curl)\s+"
    r"[\w.@/*-]+(?:$|\s*[(.:]|\s+(?:import|from|install)\b)"
)
"""How a line of code, a setting or a request begins: statements of languages, a quoted name before a colon."""
_LEVEL = r"(?:info|warn|warning|error|debug|trace|fatal|critical)"
_LOG = re.compile(
    rf"\[?(?:\d{{4}}-\d\d-\d\d[t ])?\d\d:\d\d[:\d.,]*z?\]?.{{0,40}}?\b{_LEVEL}\b"
    rf"|\[{_LEVEL}\]|(?:error|debug|trace|fatal): "
)
_SAID_IN_CODE = ";"
"""What stands for inline code: it ends a clause, so that the words on both sides of it do not run together."""


def without_code(content: str) -> str:
    """Return a content of the same length in which fenced code is blank and inline code is blank between semicolons."""
    if "`" not in content and "~~~" not in content:
        return content
    lines, fence = [], ""
    for line in content.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fenced, closed = True, bool(fence) or mark[1] in line[mark.end() :]
            fence = "" if closed else mark[1]
        else:
            fenced = bool(fence)
        lines.append(_blank(line) if fenced else _INLINE.sub(_placeholder, line))
    return "".join(lines)


def is_program_text(sentence: str) -> bool:
    """Tell whether a sentence is, or holds, code, a setting or a line of a log."""
    folded = sentence.casefold()
    begins = _OPENING.match(folded) or _LOG.match(folded)
    return bool(begins or (_MARKS.search(folded) and _CODE.search(folded)))


def _placeholder(code: re.Match[str]) -> str:
    return _SAID_IN_CODE + " " * (len(code[0]) - 2) + _SAID_IN_CODE


def _blank(line: str) -> str:
    text = line.splitlines()[0]
    return " " * len(text) + line[len(text) :]
