"""How OpenVINO is loaded and what it is told."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.adapters.local.inference import CompiledGraph, Graph, compiled, openvino
from app.domain.errors import ConfigurationError
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


def doubled() -> Graph:
    ops = openvino().opset15
    values = ops.parameter([-1], np.float32)
    return openvino().Model([ops.result(ops.add(values, values))], [values])


def told(graph: CompiledGraph, name: str) -> str:
    return str(graph.get_property(name))


def test_products_are_rounded_where_the_processor_multiplies_bfloat16_unless_they_are_to_be_exact() -> None:
    can_round = "BF16" in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    fastest, exact = (
        told(compiled(doubled(), passes=1, exact=exact), "INFERENCE_PRECISION_HINT") for exact in (False, True)
    )
    assert ("bfloat16" in fastest, "float32" in exact) == (can_round, True), (fastest, exact)


@pytest.mark.parametrize("passes", [1, 2])
def test_as_many_passes_are_computed_at_a_time_as_there_are_to_be(passes: int) -> None:
    graph = compiled(doubled(), passes=passes, exact=True)
    assert told(graph, "NUM_STREAMS") == str(min(passes, os.cpu_count() or 1))


def test_a_machine_on_which_openvino_does_not_load_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ConfigurationError, match=r"does not run on this machine: .*Set EMBEDDER"):
        openvino()


def test_a_graph_that_openvino_cannot_compile_is_an_error_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = doubled()

    class Package:
        def Core(self) -> None:  # noqa: N802 - OpenVINO's name
            raise RuntimeError("Cannot load library")

    monkeypatch.setitem(sys.modules, "openvino", Package())
    with pytest.raises(ConfigurationError, match="Cannot load library"):
        compiled(graph, passes=1, exact=True)
