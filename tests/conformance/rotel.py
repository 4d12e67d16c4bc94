"""rotel, a collector of traces that was not written here, which passes on what it takes."""

import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARY = Path(sysconfig.get_path("purelib")) / "rotel" / "rotel-agent"


def _free() -> str:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{own.getsockname()[1]}"


@contextmanager
def passing_on(to: str, folder: Path) -> Iterator[str]:
    """Run a collector that passes all it takes on over HTTP; yields its address."""
    http, grpc = _free(), _free()
    command: list[str | Path] = [BINARY, "start", "--pid-file", folder / "pid", "--log-file", folder / "log"]
    listens = ["--otlp-http-endpoint", http, "--otlp-grpc-endpoint", grpc]
    sends = ["--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", to]
    with subprocess.Popen([*command, *listens, *sends, "--batch-timeout", "50ms"]) as process:
        try:
            _listens(http)
            yield f"http://{http}"
        finally:
            process.terminate()


def _listens(address: str) -> None:
    host, _, port = address.partition(":")
    for _ in range(200):
        with socket.socket() as own:
            if own.connect_ex((host, int(port))) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("rotel does not listen")
