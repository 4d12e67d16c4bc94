"""The version of this package, which the service and its commands show."""

from functools import cache
from importlib.metadata import version


@cache
def installed_version() -> str:
    """Return the version of the installed package. The package's metadata is read once in a process."""
    return version("memory-gateway")
