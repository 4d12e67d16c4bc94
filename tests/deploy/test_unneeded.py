"""What is deleted of installed packages, and what comes back."""

import errno
import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.deploy.dockerfile import ROOT

_FILES = {
    "libs/libopenvino.so.2641": True,
    "libs/libopenvino_intel_cpu_plugin.so": True,
    "libs/libtbb.so.12": True,
    "opset15/ops.py": True,
    "frontend/__init__.py": True,
    "libs/libopenvino_intel_gpu_plugin.so": False,
    "libs/libopenvino_onnx_frontend.so.2641": False,
    "libs/cache.json": False,
    "frontend/onnx/py_onnx_frontend.cpython-311-x86_64-linux-gnu.so": False,
    "include/openvino/core.hpp": False,
}
"""Files of a package, and whether they stay."""


@pytest.fixture
def program() -> ModuleType:
    spec = spec_from_file_location("unneeded", ROOT / "deploy" / "unneeded.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "packages" / "openvino"
    for name in _FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"12345")
    return folder


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_computes_on_the_processor_stays_and_the_rest_goes(program: ModuleType, package: Path) -> None:
    assert program.delete({"openvino": package}) == 5 * 5
    assert files(package) == {name for name, stays in _FILES.items() if stays}
    assert [path.name for path in package.parent.iterdir()] == ["openvino"], "nothing is left beside it"
    assert program.delete({"openvino": package}) == 0


def test_where_the_rest_does_not_work_all_of_it_comes_back(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "works", lambda: False)
    assert program.delete({"openvino": package}) == 0
    assert files(package) == set(_FILES)
    assert [path.name for path in package.parent.iterdir()] == ["openvino"]


def test_packages_that_do_not_work_as_they_are_stay_as_they_are(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "works", lambda: False)
    monkeypatch.setattr(program, "installed", lambda: {"openvino": package})
    program.main()  # the service may be set to do without the package, so it is installed all the same
    assert "nothing is deleted" in capsys.readouterr().out
    assert files(package) == set(_FILES)


def test_folders_of_a_lower_layer_of_an_image_are_moved_file_by_file(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def of_overlay(old: str | Path, new: str | Path) -> None:
        """Rename as overlayfs does where a folder comes from a layer below: not at all."""
        if Path(old).is_dir():
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)
        rename(old, new)

    monkeypatch.setattr(os, "rename", of_overlay)
    assert program.delete({"openvino": package}) == 5 * 5
    assert files(package) == {name for name, stays in _FILES.items() if stays}


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, PermissionError])
def test_after_an_interruption_all_of_it_comes_back(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch, interrupted: type[BaseException]
) -> None:
    def interrupt() -> bool:
        raise interrupted

    monkeypatch.setattr(program, "works", interrupt)
    with pytest.raises(interrupted):
        program.delete({"openvino": package})
    assert files(package) == set(_FILES)


def test_the_packages_of_this_environment_are_found_and_work(program: ModuleType) -> None:
    assert set(program.installed()) == set(program.UNNEEDED)
    assert program.works()
