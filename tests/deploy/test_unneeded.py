"""What is deleted of installed packages, and what comes back."""

import errno
import os
import shutil
from collections.abc import Callable
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


def test_files_of_a_lower_layer_of_an_image_are_copied(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_overlay(old: str | Path, _: str | Path) -> None:
        """Rename as overlayfs may what comes from a layer below: not at all."""
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)

    monkeypatch.setattr(os, "rename", of_overlay)
    assert program.delete({"openvino": package}) == 5 * 5
    assert files(package) == {name for name, stays in _FILES.items() if stays}


def refusing(refused: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have the system refuse to rename or delete a file, until the function that is returned is called."""
    rename, unlink, allowed = os.rename, os.unlink, list[bool]()

    def check(path: str | Path) -> None:
        if Path(path) == refused and not allowed:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))

    def checked_rename(old: str | Path, new: str | Path) -> None:
        check(old)
        rename(old, new)

    def checked_unlink(path: str | Path, **where: int) -> None:
        check(path)
        unlink(path, **where)

    monkeypatch.setattr(os, "rename", checked_rename)
    monkeypatch.setattr(os, "unlink", checked_unlink)
    return lambda: allowed.append(True)


def test_where_a_file_cannot_be_moved_all_comes_back_and_the_next_run_deletes_it(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "installed", lambda: {"openvino": package})
    monkeypatch.setattr(program, "works", lambda: True)
    allow = refusing(package / "include/openvino/core.hpp", monkeypatch)
    for _ in range(2):
        assert program.main() == 0, "the service can be used all the same"
        told = capsys.readouterr().err
        assert f"{package / 'include/openvino/core.hpp'}: Operation not permitted." in told
        assert "only disk space is" in told
        assert files(package) == set(_FILES)
        assert [path.name for path in package.parent.iterdir()] == ["openvino"]
    allow()
    assert program.main() == 0
    assert "Deleted" in capsys.readouterr().out
    assert files(package) == {name for name, stays in _FILES.items() if stays}


def test_where_a_file_cannot_be_deleted_the_next_run_deletes_it(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "installed", lambda: {"openvino": package})
    monkeypatch.setattr(program, "works", lambda: True)
    remove = shutil.rmtree

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path / "core.hpp"))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    assert program.main() == 0
    assert "core.hpp: Operation not permitted." in capsys.readouterr().err
    monkeypatch.setattr(shutil, "rmtree", remove)
    assert program.main() == 0
    assert files(package) == {name for name, stays in _FILES.items() if stays}
    assert [path.name for path in package.parent.iterdir()] == ["openvino"]


def test_what_a_killed_run_has_left_aside_comes_back_unless_it_was_installed_anew(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = iter([False])
    monkeypatch.setattr(program, "installed", lambda: {"openvino": package})
    monkeypatch.setattr(program, "works", lambda: next(works))
    spare = program.aside(package)
    for name in ("libs/libtbb.so.12", "include/openvino/core.hpp"):
        (spare / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).rename(spare / name)
    (package / "libs/libtbb.so.12").write_bytes(b"new")
    assert program.main() == 0
    assert files(package) == set(_FILES)
    assert (package / "libs/libtbb.so.12").read_bytes() == b"new"
    assert [path.name for path in package.parent.iterdir()] == ["openvino"]


def test_packages_that_do_not_work_since_a_file_could_not_be_put_back_are_an_error_and_keep_the_file(
    program: ModuleType, package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "installed", lambda: {"openvino": package})
    monkeypatch.setattr(program, "works", lambda: not program.aside(package).exists())
    move = shutil.move

    def refuse(old: Path, new: Path) -> None:
        if program.aside(package) in old.parents and old.name == "cache.json":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(new))
        move(old, new)

    monkeypatch.setattr(shutil, "move", refuse)
    assert program.main() == 1
    told = capsys.readouterr().err
    assert f"{package / 'libs/cache.json'}: Permission denied." in told
    assert "install the packages anew" in told
    assert files(package) == set(_FILES) - {"libs/cache.json"}
    monkeypatch.setattr(shutil, "move", move)
    assert program.main() == 0
    assert files(package) == set(_FILES), "they do work with it, and not without"


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
