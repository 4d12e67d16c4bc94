"""What a line of a tool's answer quotes, and that nothing else in it comes from a memory."""

import json
import re

_OURS = r'(?:Answer: |Forgotten: )?(?:(?:\d+\. )?[0-9A-Z]{26} \([^"()]*\): )?'
_LINE = re.compile(rf'{_OURS}("(?:[^"\\]|\\.)*")(?: \.\.\.)?')


def in_quotes(line: str) -> str:
    """Return what a line quotes; all around it is written by the tool alone."""
    match = _LINE.fullmatch(line)
    assert match is not None, line
    quote: str = json.loads(match[1])
    return quote
