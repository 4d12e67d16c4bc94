"""The files that exports write: none takes the place of a link, a pipe or a device."""

import os

import pytest

from tests.interfaces.cli.line import Line

EXPORTS = [("export",), ("acts", "export")]


@pytest.mark.parametrize("command", EXPORTS, ids=" ".join)
def test_an_export_into_a_pipe_is_read_from_it_and_leaves_it_one(line: Line, command: tuple[str, ...]) -> None:
    line.ok("store", "a red fox")
    pipe = line.folder / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert line.run(*command, "-o", str(pipe)).returncode == 0
        assert os.read(reading, 100_000).startswith(b"{")
    finally:
        os.close(reading)
    assert pipe.is_fifo()


@pytest.mark.parametrize("command", EXPORTS, ids=" ".join)
def test_an_export_to_a_link_changes_the_file_that_it_leads_to(line: Line, command: tuple[str, ...]) -> None:
    line.ok("store", "a red fox")
    (line.folder / "kept").mkdir()
    file, link = line.folder / "kept" / "file.ndjson", line.folder / "latest.ndjson"
    file.write_text("old")
    link.symlink_to(file)
    assert line.run(*command, "-o", str(link)).returncode == 0
    assert (link.is_symlink(), file.read_bytes()[:1]) == (True, b"{")
    assert sorted(file.parent.iterdir()) == [file]
