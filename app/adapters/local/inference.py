"""Compiles graphs with OpenVINO, so that they are computed on this machine's CPU (ADR 0004)."""

import sys
from typing import Any, TypeAlias

from app.domain.errors import ConfigurationError

Package: TypeAlias = Any
Node: TypeAlias = Any
Graph: TypeAlias = Any
CompiledGraph: TypeAlias = Any
InferRequest: TypeAlias = Any
"""A type of OpenVINO's, which type checkers cannot read."""

_TOOLS = "openvino.tools.ovc"
"""OpenVINO imports this module if it can. The module tells Google Analytics and writes an id to the home folder."""
_GROUP = 64
"""Activations that are rounded to int8 together, where weights are of int8."""


def openvino() -> Package:
    """Import OpenVINO without the module that reports its use.

    Raises:
        ConfigurationError: OpenVINO cannot be loaded on this machine.
    """
    if (loaded := sys.modules.get("openvino")) is not None:
        return loaded
    sys.modules[_TOOLS] = None  # type: ignore[assignment]  # a module that is None cannot be imported
    try:
        import openvino as package  # noqa: PLC0415 - loading it takes 100 ms
    except ImportError as error:
        raise _unusable(error) from error
    finally:
        del sys.modules[_TOOLS]
    return package


def compiled(graph: Graph, *, passes: int, exact: bool, quantised: bool = False) -> CompiledGraph:
    """Return a graph that is ready to be computed, in ``passes`` passes at a time, each on a thread of its own.

    Args:
        graph: what to compute.
        passes: how many passes run at a time; OpenVINO takes no more than there are processors.
        exact: True computes in float32; otherwise products are of bfloat16 where the processor multiplies it.
        quantised: True multiplies weights of int8 with activations that are rounded to int8.

    Raises:
        ConfigurationError: OpenVINO cannot compute the graph on this machine.
    """
    try:
        core = openvino().Core()
        rounded = not exact and "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        return core.compile_model(
            graph,
            "CPU",
            {
                "NUM_STREAMS": passes,
                "INFERENCE_NUM_THREADS": passes,
                "INFERENCE_PRECISION_HINT": "bf16" if rounded else "f32",
                "ENABLE_CPU_PINNING": False,  # other processes serve beside this one
                "DYNAMIC_QUANTIZATION_GROUP_SIZE": _GROUP if quantised else 0,
            },
        )
    except RuntimeError as error:  # the only error of OpenVINO's
        raise _unusable(error) from error


def _unusable(error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"OpenVINO, which computes the local model, does not run on this machine: {error}. Set EMBEDDER to another."
    )
