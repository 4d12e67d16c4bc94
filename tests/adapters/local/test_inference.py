"""OpenVINO is loaded without the part that reports its use."""

import os
import subprocess
import sys
from pathlib import Path

from tests.adapters.local.tiny_model import write_model

_EMBEDS = """
import sys
asked = []
sys.addaudithook(lambda event, _: asked.append(event) if event.startswith("socket.") else None)
from app.adapters.local.bert import BertEncoder
from pathlib import Path
BertEncoder(Path(sys.argv[1])).encode([[2, 4, 3]])
assert "openvino" in sys.modules
reporting = [name for name in sys.modules if "telemetry" in name or name.startswith("openvino.tools")]
assert not reporting, reporting
assert not asked, asked
"""


def test_loading_and_computing_a_model_reports_nothing_and_writes_nothing_to_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"HOME": str(home)}
    command = [sys.executable, "-c", _EMBEDS, str(write_model(tmp_path / "tiny"))]
    subprocess.run(command, check=True, timeout=60, env=environment)
    assert not list(home.iterdir())
