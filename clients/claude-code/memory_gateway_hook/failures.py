"""What can go wrong in a hook."""

from __future__ import annotations


class Failed(Exception):
    """What went wrong, in one line for people."""


class Unanswered(Failed):
    """The service is away, too slow, or not the service."""


class Late(Unanswered):
    """The service has not answered in the time that the event may take: it may be there, and busy."""


class Refused(Failed):
    """The service answered that it does not do it.

    Attributes:
        status: The status of the answer.
        code: The problem's code; "" where the answer names none.
        of_messages: Whether the problem is one of the messages that were sent, and of no other field.
    """

    def __init__(self, message: str, status: int, code: str, *, of_messages: bool = False) -> None:
        """Take the line for people, and what the answer said."""
        super().__init__(message)
        self.status, self.code, self.of_messages = status, code, of_messages


class SpoolFull(Failed):
    """The spool takes no more."""
