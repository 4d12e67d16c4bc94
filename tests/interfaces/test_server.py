"""What a server makes of its settings."""

import platform
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from app.interfaces.http.middleware import IN_NETWORK
from app.interfaces.server.listener import allowed_hosts, own_command
from app.settings import Settings

_FREED = """
import asyncio, sys, psutil
from app.interfaces.server.process_memory import LoadedFiles, give_memory_back
loaded = LoadedFiles()
kept = [bytearray(60_000) for _ in range(2_000)]
holds = [bytearray(60_000)]
kept.clear()
before = psutil.Process().memory_info().rss

async def main():
    giving = asyncio.create_task(give_memory_back(loaded, 0.05))
    await asyncio.sleep(0.5)
    giving.cancel()

asyncio.run(main())
print(before - psutil.Process().memory_info().rss)
"""

_UNMAPPED = """
import ctypes, mmap, tempfile
import numpy as np, psutil
from app.interfaces.server.process_memory import LoadedFiles

def mapped(content):
    file = tempfile.TemporaryFile()
    file.write(content)
    file.flush()
    return mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)

def address(pages):
    return ctypes.addressof(ctypes.c_char.from_buffer(pages))

table = mmap.mmap((file := tempfile.TemporaryFile()).fileno(), file.truncate(20_000_000), access=mmap.ACCESS_READ)
assert not any(table[::4096])
changed = mapped(bytes(8192))
changed[:4] = b"kept"
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address(changed)), ctypes.c_size_t(8192), mmap.PROT_READ) == 0
before = psutil.Process().memory_info().rss
LoadedFiles().unmap()
print(before - psutil.Process().memory_info().rss, bytes(changed[:4]), np.linalg.det(np.eye(3)), any(table[::4096]))
"""

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


@pytest.mark.parametrize(
    ("host", "allowed", "answered"),
    [
        ("127.0.0.1", "", LOOPBACK),
        ("127.1.2.3", "", [*LOOPBACK, "127.1.2.3"]),
        ("LOCALHOST", "", LOOPBACK),
        ("::ffff:127.0.0.1", "", [*LOOPBACK, "[::ffff:127.0.0.1]"]),
        ("::1", "", LOOPBACK),
        ("localhost", "", LOOPBACK),
        ("192.0.2.1", "", [*LOOPBACK, "192.0.2.1", IN_NETWORK, "box.example"]),
        ("0.0.0.0", "", [*LOOPBACK, "0.0.0.0", IN_NETWORK, "box.example"]),  # noqa: S104 - as in a container
        ("::", "", [*LOOPBACK, "[::]", IN_NETWORK, "box.example"]),
        ("0.0.0.0", "*", []),  # noqa: S104
        ("127.0.0.1", "*", []),
        ("127.0.0.1", "Memory.example, localhost", [*LOOPBACK, "memory.example", "localhost"]),
        ("192.0.2.1", "memory.example", [*LOOPBACK, "memory.example", "192.0.2.1"]),
    ],
)
def test_a_service_answers_to_its_own_names_unless_others_are_set(
    monkeypatch: pytest.MonkeyPatch, host: str, allowed: str, answered: list[str]
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "Box.example")
    assert allowed_hosts(Settings(host=host, allowed_hosts=allowed)) == answered


@pytest.mark.thorough
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep less, and have no such call")
def test_freed_memory_is_returned_to_the_system() -> None:
    done = subprocess.run([sys.executable, "-c", _FREED], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 60_000_000


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what is mapped")
def test_pages_of_files_that_were_only_read_leave_the_process_and_those_that_it_has_changed_stay() -> None:
    done = subprocess.run([sys.executable, "-c", _UNMAPPED], capture_output=True, text=True, check=True)
    freed, *computed = done.stdout.split()
    assert int(freed) > 20_000_000
    assert computed == ["b'kept'", "1.0", "False"]


def test_the_command_that_is_printed_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "of two words" / "memory-gateway"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shlex.split(own_command("of two words/memory-gateway")) == [str(program)]
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_command(str(program)) == own_command("memory-gateway") == "memory-gateway"
