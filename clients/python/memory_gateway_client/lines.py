"""Reads an answer that comes line by line, and tells one that was cut off from one that is whole."""

import json
from collections.abc import Iterator
from typing import Any

from memory_gateway_client import errors
from memory_gateway_client.request import Call, Line


class LineReader:
    """Makes lines of the bytes of one answer. Only a line feed ends a line: a text may hold other separators."""

    def __init__(self, call: Call[Any]) -> None:
        """Begin with nothing."""
        self._call = call
        self._rest: list[bytes] = []
        self._last: Line = {}

    def read(self, chunk: bytes) -> Iterator[Line]:
        """Give the lines that end in this chunk.

        Raises:
            AnswerNotUnderstood: one is no JSON object.
        """
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield self._line(b"".join([*self._rest, line]))
            self._rest.clear()
        self._rest.append(rest)

    def end(self) -> None:
        """Be told that there is no more.

        Raises:
            Unavailable: the last line is not the one that such an answer ends with.
        """
        until = self._call.lines_until or ()
        if any(self._rest) or (until and self._last.get("type") not in until):
            raise errors.Unavailable(
                f"{self._call}: The answer broke off: it is not whole.", code="answer_lost", status=502
            )

    def _line(self, line: bytes) -> Line:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise errors.AnswerNotUnderstood(f"{self._call}: A line of the answer is no JSON: {error}.") from error
        if not isinstance(said, dict):
            raise errors.AnswerNotUnderstood(f"{self._call}: A line of the answer is no object.")
        self._last = said
        return said
