"""Packages that are imported without another one."""

import sys
from pathlib import Path

import pytest

from app.adapters.local.imports import without


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make two packages that can be imported; one imports the other."""
    (tmp_path / "heavy_client.py").write_text("asked = True\n")
    (tmp_path / "patterns_of_keys.py").write_text("import heavy_client\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("heavy_client", "patterns_of_keys"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("client")
def test_what_is_left_out_is_not_loaded_and_can_be_imported_later() -> None:
    with without("heavy_client"):
        patterns = __import__("patterns_of_keys")
    assert not hasattr(patterns.heavy_client, "asked")
    assert "heavy_client" not in sys.modules
    assert __import__("heavy_client").asked


@pytest.mark.usefixtures("client")
def test_what_is_loaded_already_stays() -> None:
    loaded = __import__("heavy_client")
    with without("heavy_client"):
        assert __import__("patterns_of_keys").heavy_client is loaded
    assert sys.modules["heavy_client"] is loaded


@pytest.mark.usefixtures("client")
def test_a_failure_leaves_no_empty_module_behind() -> None:
    with pytest.raises(ModuleNotFoundError), without("heavy_client"):
        __import__("no_such_package_anywhere")
    assert "heavy_client" not in sys.modules
