"""The running service, and the guards that every test of the project has."""

from tests.clients.conftest import _nothing_from_outside, service, url
from tests.conftest import _logging_as_it_was, _no_settings_from_outside, _only_this_machine, anyio_backend

__all__ = [
    "_logging_as_it_was",
    "_no_settings_from_outside",
    "_nothing_from_outside",
    "_only_this_machine",
    "anyio_backend",
    "service",
    "url",
]
