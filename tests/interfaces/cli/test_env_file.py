"""The file that ``provision --write-env`` keeps: what is set is set once, and nothing else changes."""

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values

from app.domain.errors import ConfigurationError
from app.interfaces.cli.env_file import write_settings

KEPT = "NAME=new\n"


@pytest.mark.parametrize(
    "line", ["NAME=old", "export NAME=old", "  export\tNAME = 'old' # ours", "name=old", "'NAME'=old", 'NAME="o\nl\nd"']
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_every_way_to_set_a_name_is_replaced_by_one_line(tmp_path: Path, line: str, end: str) -> None:
    file = tmp_path / "own.env"
    file.write_bytes(f"FIRST=1{end or chr(10)}{line}{end}".encode())
    write_settings(file, {"NAME": "new"})
    assert file.read_bytes() == f"FIRST=1{end or chr(10)}{KEPT}".encode()


@pytest.mark.parametrize(
    "held",
    [
        "# NAME=commented out\n\nOTHER=1\n",
        "OTHER='several\nNAME=lines\n'\n",
        "NAME_2=x\nMY_NAME=y\nexport OTHER=z\n",
        "not a setting\n=nothing\n'open\n",
        "OTHER=a\u2028b\x0bc\x85d\r\nLAST=e\n",
        "",
    ],
)
def test_what_does_not_set_the_name_stays_to_the_byte(tmp_path: Path, held: str) -> None:
    file = tmp_path / "own.env"
    file.write_bytes(held.encode())
    before = dotenv_values(file)
    write_settings(file, {"NAME": "new"})
    assert file.read_bytes() == (held + KEPT).encode()
    assert dotenv_values(file) == {**before, "NAME": "new"}


@pytest.mark.parametrize("value", ["", "a\nOTHER=b", "a\rb", "a b", "a#b", "'a'", '"', "a\u2028b", "$HOME"])
def test_a_value_that_would_not_be_read_as_it_was_written_is_refused_and_not_shown(tmp_path: Path, value: str) -> None:
    file = tmp_path / "own.env"
    file.write_text("OTHER=1\n", "utf-8")
    with pytest.raises(ConfigurationError, match="--write-env: NAME is of characters") as caught:
        write_settings(file, {"NAME": value})
    assert "OTHER=b" not in caught.value.detail
    assert file.read_text("utf-8") == "OTHER=1\n"


def test_the_file_is_for_its_owner_alone_and_a_link_to_it_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "own.env", tmp_path / "link.env"
    file.write_text("OTHER=1\n", "utf-8")
    file.chmod(0o644)
    link.symlink_to(file)
    write_settings(link, {"NAME": "new"})
    assert link.is_symlink()
    assert file.read_text("utf-8") == f"OTHER=1\n{KEPT}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    made = tmp_path / "made.env"
    write_settings(made, {"NAME": "new"})
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_a_disk_that_is_full_is_told_and_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = tmp_path / "own.env"
    file.write_text("OTHER=1\n", "utf-8")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"own\.env cannot be written .*No space left"):
        write_settings(file, {"NAME": "new"})
    assert file.read_text("utf-8") == "OTHER=1\n"
    assert list(tmp_path.iterdir()) == [file]
