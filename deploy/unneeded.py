"""Deletes what the installed packages bring and the service never loads, from the environment that runs this.

OpenVINO's wheel has code for graphics processors and for models in files of others, numpy's has its own tests, and
apsw's has programs of SQLite. Together they are a quarter of what is installed (ADR 0096). What is deleted is first
moved aside; where the rest does not work without it, all of it comes back, and only disk space is lost.
"""

import contextlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

UNNEEDED: Mapping[str, Sequence[str]] = {
    "apsw": ("sqlite_extra_binaries",),
    "numpy": ("**/tests", "_core/include", "**/*.a", "distutils"),
    "openvino": (
        "libs/*_intel_gpu_plugin*",
        "libs/*_intel_npu_plugin*",
        "libs/*_auto_plugin*",
        "libs/*_auto_batch_plugin*",
        "libs/*_hetero_plugin*",
        "libs/*_frontend*",
        "libs/*openvino_c.*",
        "libs/cache.json",  # of the graphics processor
        "frontend/*/*_frontend*.so",
        "frontend/*/*_frontend*.pyd",
        "include",
        "cmake",
        "tools",
        "torch",
    ),
}
"""The files and folders of each package, as patterns."""

_WORKS = """
import sys
sys.modules["openvino.tools.ovc"] = None  # tells its vendor of each use, and the service never loads it
import apsw, numpy, openvino
ops = openvino.opset15
values = ops.parameter([-1], numpy.float32)
graph = openvino.Core().compile_model(openvino.Model([ops.result(ops.add(values, values))], [values]), "CPU")
assert list(graph.create_infer_request().infer([numpy.ones(2, numpy.float32)]).values())[0].tolist() == [2, 2]
apsw.Connection(":memory:").execute("SELECT 1")
"""


def unneeded(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield what is not needed of the package in a folder, and of a folder that is not needed none of its parts."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return (path for path in found if not any(other in path.parents for other in found))


def works() -> bool:
    """Tell whether the packages do what the service asks of them."""
    return subprocess.run([sys.executable, "-c", _WORKS], capture_output=True, check=False).returncode == 0


def delete(packages: Mapping[str, Path]) -> int:
    """Delete what is not needed of the packages in these folders; return its bytes, 0 where it had to be put back.

    It is put back after an error too, and where somebody interrupts this.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.ExitStack() as putting_back:
            moved: list[Path] = []
            for name, folder in packages.items():
                aside = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder.parent, prefix="unneeded-")))
                for number, path in enumerate(unneeded(folder, UNNEEDED[name])):
                    # An image's file system does not rename folders of a layer below; they are copied then.
                    moved.append(Path(shutil.move(path, aside / str(number))))
                    putting_back.callback(shutil.move, moved[-1], path)
            if not works():
                return 0
            putting_back.pop_all()
        return sum(map(size, moved))


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def installed() -> Mapping[str, Path]:
    """Return the folders of the packages, of those that are installed."""
    specs = {name: importlib.util.find_spec(name) for name in UNNEEDED}
    return {name: Path(spec.origin).parent for name, spec in specs.items() if spec is not None and spec.origin}


def main() -> None:
    """Delete it, and tell how much it was; nothing where the packages do not work: the service may do without."""
    if not works():
        print("The packages do not work as they were installed, so nothing is deleted of them.")  # noqa: T201 - a program
        return
    deleted = delete(installed())
    print(f"Deleted {deleted / 1e6:.0f} MB of the packages that the service does not load.")  # noqa: T201 - a program


if __name__ == "__main__":
    main()
