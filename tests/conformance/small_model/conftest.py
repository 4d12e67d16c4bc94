"""The model's server, once for all tests: Gemma 3 270M (packages), run by llama.cpp (npm)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.toolchain import NODE
from tests.process.conftest import data_dir, spawn, start

__all__ = ["data_dir", "spawn", "start"]
_FOLDER = Path(__file__).parent
_MODEL = Path(sys.prefix) / "small-model" / "model.gguf"
_MODULES = _FOLDER / "node_modules" / "node-llama-cpp"


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """Serve the model; where it is not installed the proofs are skipped, which is a failure where CI is set."""
    if not (_MODEL.exists() and _MODULES.exists() and NODE.exists()):
        assert "CI" not in os.environ, "make conformance installs the small model"
        pytest.skip("the small model is not installed")
    command = [str(NODE), str(_FOLDER / "server.js"), str(_MODEL)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        yield f"http://127.0.0.1:{port}/v1"
        server.kill()
