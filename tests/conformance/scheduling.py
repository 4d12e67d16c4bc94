"""Which process runs a test of ``make conformance``: whichever is free, but for what a module shares."""

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[2]
_SHARED = 'scope="module"'


class SharedOnce(LoadScopeScheduling):
    """Gives out tests one by one, so that no process waits for the long ones of another at the end.

    The tests of a module stay together where it, or its folder, has a fixture for a whole module, such as a service or
    an environment: what takes long to make is made once.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if _shares(path) else nodeid


@cache
def _shares(path: str) -> bool:
    module = ROOT / path
    files = [module, module.with_name("conftest.py")]
    return any(_SHARED in file.read_text(encoding="utf-8") for file in files if file.exists())
