"""Deletes what the installed packages bring and the service never loads, from the environment that runs this.

OpenVINO's wheel has code for graphics processors and for models in files of others, numpy's has its own tests, and
apsw's has programs of SQLite. Together they are a quarter of what is installed (ADR 0096). What is deleted is first
moved aside; where the rest does not work without it, all of it comes back, and only disk space is lost. What a run that
was ended has left aside comes back with the next one, which begins anew.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

UNNEEDED: Mapping[str, Sequence[str]] = {
    "apsw": (  # all but the module that SQLite is in
        *("sqlite_extra_binaries", "tests", "_unicode.*", "ext.py", "fts5*.py", "shell.py", "speedtest.py"),
        *("trace.py", "unicode.py"),
    ),
    "jsonschema": ("tests", "benchmarks"),
    "numpy": (
        *("**/tests", "_core/include", "**/*.a", "distutils", "f2py", "_pyinstaller"),
        *("_core/_simd.*", "_core/*_tests.*"),  # compiled for its tests
    ),
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
    "referencing": ("tests",),
    "stdnum": ("[!i]*.dat", "i[!b]*.dat", "*/*.dat"),  # tables of all numbers but of bank accounts
    "yaml": ("_yaml.*",),  # the parser in C, beside which it has its own
}
"""The files and folders of each package, as patterns."""

_WORKS = """
import sys
sys.modules["openvino.tools.ovc"] = None  # tells its vendor of each use, and the service never loads it
import apsw, detect_secrets.transformers.yaml, jsonschema, numpy, openvino, yaml
from stdnum import iban
assert yaml.safe_load("a: [1]") == {"a": [1]}
assert iban.is_valid("DE89370400440532013000")
jsonschema.validate(1, {"type": "integer"})
assert numpy.random.default_rng(1).random() < 1
ops = openvino.opset15
values = ops.parameter([-1], numpy.float32)
graph = openvino.Core().compile_model(openvino.Model([ops.result(ops.add(values, values))], [values]), "CPU")
assert list(graph.create_infer_request().infer([numpy.ones(2, numpy.float32)]).values())[0].tolist() == [2, 2]
apsw.Connection(":memory:").execute("SELECT 1")
"""

_LEFT = """\
Not all that the service never loads could be deleted of its packages. It works all the same, and only disk space is
lost. Once the file can be deleted, call this again: deploy/unneeded.py, by the Python of the packages."""
_BROKEN = """\
What was moved aside of the packages could not be put back, and they do not work without it. Once the file can be
written, call this again (deploy/unneeded.py, by the Python of the packages), or install the packages anew."""


def unneeded(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield what is not needed of the package in a folder, and of a folder that is not needed none of its parts."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return (path for path in found if not any(other in path.parents for other in found))


def works() -> bool:
    """Tell whether the packages do what the service asks of them."""
    return subprocess.run([sys.executable, "-c", _WORKS], capture_output=True, check=False).returncode == 0


def files(path: Path) -> Sequence[Path]:
    """Return a file itself, and of a folder all files in it."""
    return [file for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_symlink() or file.is_file()]


def aside(folder: Path) -> Path:
    """Return the folder beside a package where its files lie until it is known that nothing needs them."""
    return folder.with_name(f"unneeded-{folder.name}")


def delete(packages: Mapping[str, Path]) -> int:
    """Delete what is not needed of the packages in these folders; return its bytes, 0 where it had to be put back.

    It is put back after an error too, and where somebody interrupts this.

    Raises:
        OSError: a file cannot be moved, put back or deleted. What is aside then is where it can be put back from.
    """
    found = [(folder, path) for name, folder in packages.items() for path in unneeded(folder, UNNEEDED[name])]
    needed = True
    try:
        move_aside(found)
        needed = not works()
    finally:
        if needed:
            put_back(packages)
    if needed:
        return 0
    spares = [aside(folder) for folder in packages.values()]
    deleted = sum(file.lstat().st_size for spare in spares for file in files(spare))
    for left in [*spares, *(path for _, path in found)]:  # of a folder its empty folders are left
        if left.is_dir():
            shutil.rmtree(left)
    return deleted


def move_aside(found: Sequence[tuple[Path, Path]]) -> None:
    """Move what was found aside: the folder of its package, and its own path.

    It is moved file by file: an image's file system does not rename folders of a layer below, and copies such files.
    """
    for folder, path in found:
        for file in files(path):
            spare = aside(folder) / file.relative_to(folder)
            spare.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, spare)


def put_back(packages: Mapping[str, Path]) -> None:
    """Put back what lies aside of the packages. What has been installed in its place since then stays.

    Raises:
        OSError: a file cannot be put back; all others are.
    """
    failed: list[OSError] = []
    for folder in packages.values():
        for spare in files(aside(folder)):
            place = folder / spare.relative_to(aside(folder))
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.exists():
                    spare.unlink()
                else:
                    shutil.move(spare, place)
            except OSError as error:
                failed.append(error)
        if aside(folder).is_dir() and not files(aside(folder)):
            shutil.rmtree(aside(folder))
    if failed:
        raise failed[0]


def installed() -> Mapping[str, Path]:
    """Return the folders of the packages, of those that are installed."""
    specs = {name: importlib.util.find_spec(name) for name in UNNEEDED}
    return {name: Path(spec.origin).parent for name, spec in specs.items() if spec is not None and spec.origin}


def main() -> int:
    """Delete it, and tell how much it was; nothing where the packages do not work: the service may do without.

    Returns 1 where they do not work because a file could not be put back, else 0: all else costs disk space alone.
    """
    packages = installed()
    try:
        put_back(packages)
        if not works():
            print("The packages do not work as they were installed, so nothing is deleted of them.")  # noqa: T201 - a program
            return 0
        deleted = delete(packages)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}.", file=sys.stderr)  # noqa: T201
        if not works():
            print(_BROKEN, file=sys.stderr)  # noqa: T201
            return 1
        print(_LEFT, file=sys.stderr)  # noqa: T201
        return 0
    print(f"Deleted {deleted / 1e6:.0f} MB of the packages that the service does not load.")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
