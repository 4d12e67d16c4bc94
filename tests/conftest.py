"""What every test stands on: asyncio, no host but this one, no settings from outside."""

import gc
import ipaddress
import logging
import re
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from _pytest.runner import runtestprotocol

from tests.support import generation

if TYPE_CHECKING:
    from tests.support.backends import Backend

_LEFT_OUT = () if generation.LONG else ("long",) if generation.MORE else ("long", "cloudflare", "thorough")
_COUNTS = pytest.StashKey[dict[str, int]]()
"""How many tests were left out for each marker."""
_OBJECTS_BETWEEN_LOOKS = 50_000
_LIMITS = {
    "short": pytest.mark.timeout(120),
    "thorough": pytest.mark.timeout(900),
    "long": pytest.mark.timeout(4 * 3600),
}
"""Seconds after which a test fails: far more than it takes, so that no test that waits for ever stops the others."""

# What collecting makes lives as long as the process: looking for garbage in it takes a sixth of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, in what the tests make, and seldom: it comes to little, and each look is at all of it."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Limit the time of each test; leave out what takes long and what repeats, unless it is asked for.

    ``LONG``, ``MORE``, ``-m`` or a file's name asks for it.
    """
    named = {config.invocation_params.dir / argument.partition("::")[0] for argument in config.args}
    left_out = {name for name in _LEFT_OUT if name not in config.option.markexpr}
    again = _run_again_on_the_engine() if generation.MORE else frozenset()
    kept: list[pytest.Item] = []
    deselected: list[pytest.Item] = []
    counts: Counter[str] = Counter()
    for item in items:
        names = {mark.name for mark in item.iter_markers()}
        counted = names & left_out
        if item.path in named:
            counted -= {"thorough"}
        elif item.path in again:
            counted |= names & {"cloudflare"}
        counts.update(counted)
        (deselected if counted else kept).append(item)
        if not counted and "timeout" not in names:
            item.add_marker(_LIMITS[_kind(names)])
    if not generation.LONG:
        config.hook.pytest_deselected(items=deselected)
        items[:] = kept
        config.stash[_COUNTS] = dict(counts)


def _run_again_on_the_engine() -> frozenset[Path]:
    """Return the files that ``tests/conformance`` runs on D1's own engine: there the stand-in's adds nothing."""
    tests = Path(__file__).parent
    texts = [path.read_text("utf-8") for path in tests.glob("conformance/test_*_on_d1_engine.py")]
    names = re.findall(r"^from tests\.([\w.]+) import \*", "\n".join(texts), re.MULTILINE)
    return frozenset(tests / f"{name.replace('.', '/')}.py" for name in names)


def _kind(names: set[str]) -> str:
    if generation.LONG or "long" in names:
        return "long"
    return "thorough" if "thorough" in names or generation.MORE else "short"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell xdist's controller, which collects nothing itself, what was left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_COUNTS, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker has left out: all of them collect the same tests."""
    if hasattr(node, "workeroutput"):  # else it has crashed
        node.config.stash[_COUNTS] = node.workeroutput["left_out"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many tests were left out, and how to run them."""
    if counts := config.stash.get(_COUNTS, {}):
        told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"Left out by marker: {told}. LONG=1 runs all of them, -m <marker> those of one.")


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Tell xdist's controller of a test that passes in one message instead of five, which cost more than most tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.passed:
            report.sections.clear()  # its output, which nobody would see
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _only_this_machine() -> Iterator[None]:
    """Refuse a connection to any other host; ``tests/live`` takes this away from its tests."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not _is_loopback(address[0]):
            raise AssertionError(f"A test tried to reach {address[0]}.")
        connect(self, address)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(socket.socket, "connect", guarded)
        yield


def _is_loopback(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


@pytest.fixture(scope="session", autouse=True)
def _no_settings_from_outside() -> Iterator[None]:
    """Keep this machine's environment out of the settings."""
    from app.settings import Settings  # noqa: PLC0415 - xdist's controller would wait for it, and has no use for it

    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in (*Settings.model_fields, "env_file"):
            monkeypatch.delenv(name.upper(), raising=False)
        yield


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Undo what a command run in this process does to the log."""
    root = logging.getLogger()
    level = root.level
    yield
    structlog.reset_defaults()
    root.setLevel(level)
    for handler in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(handler)


@pytest.fixture(params=["embedded", pytest.param("cloudflare", marks=pytest.mark.cloudflare)])
def backend(request: pytest.FixtureRequest) -> Iterator["Backend"]:
    """Everything the service may run on: a test that takes this runs on each, on Cloudflare in ``make conformance``."""
    from tests.support.backends import running_on  # noqa: PLC0415 - xdist's controller has no use for it

    with running_on(request.param) as backend:
        yield backend
