"""A reader whose weights cannot be used keeps the service from starting, and says why."""

import json
from pathlib import Path

import pytest

from app.bootstrap.models import build_reader
from app.domain.errors import ConfigurationError
from tests.support.service import settings_for


def test_without_a_reader_none_is_built(tmp_path: Path) -> None:
    assert build_reader(settings_for(tmp_path, reader="none"), tmp_path / "absent") is None


def test_one_that_is_not_installed_is_gone_without_unless_the_settings_name_it(tmp_path: Path) -> None:
    assert build_reader(settings_for(tmp_path, reader="auto"), tmp_path / "absent") is None
    with pytest.raises(ConfigurationError, match="READER is local"):
        build_reader(settings_for(tmp_path, reader="local"), tmp_path / "absent")


@pytest.mark.parametrize("setting", ["auto", "local"])
def test_one_that_is_installed_and_broken_is_never_gone_without(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ConfigurationError, match=f"READER is {setting}"):
        build_reader(settings_for(tmp_path, reader=setting), tmp_path)


def write_card(directory: Path, **changes: object) -> None:
    names = ("relation", "relevance", "kind", "follows")
    thresholds = dict.fromkeys(("hide", "newer_first", "same_frame", "tells", "follows", "task"), 0.5)
    card = {"format": 1, "version": "v", "trunk": "0", "temperatures": dict.fromkeys(names, 1.0)}
    (directory / "reader.json").write_text(json.dumps(card | {"thresholds": thresholds} | changes), "utf-8")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (None, "reader.json"),
        ({"format": 99}, "format 99"),
        ({"version": None, "thresholds": {}}, "incomplete"),
        ({}, "other"),
    ],
    ids=["missing", "of another version", "truncated", "of another trunk"],
)
def test_weights_that_cannot_be_used_are_named_with_what_serves_without(
    tmp_path: Path, changes: dict[str, object] | None, said: str
) -> None:
    if changes is not None:
        write_card(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=said) as raised:
        build_reader(settings_for(tmp_path, reader="local"), tmp_path)
    assert "READER is local" in raised.value.detail
    assert "READER=none serves without it." in raised.value.detail
