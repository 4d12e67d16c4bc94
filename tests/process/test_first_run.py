"""What somebody sees who starts the service for the first time and pastes what it prints."""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.process.forks import command
from tests.process.server import environment, run

_PASTED = re.compile(r"^(?:export|curl) .*$", re.MULTILINE)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first") / "data"


@pytest.fixture(scope="module")
def printed(data_dir: Path) -> Iterator[str]:
    """What ``serve --quickstart`` prints until it has said what to paste."""
    with (data_dir.parent / "printed").open("w+", encoding="utf-8") as output:
        serve = command("serve", "--quickstart")
        started = subprocess.Popen(serve, env=environment(data_dir), cwd=data_dir.parent, stdout=output, stderr=output)
        try:
            deadline = time.monotonic() + 20
            text = ""
            while len(_PASTED.findall(text)) < 3:
                assert started.poll() is None, text
                assert time.monotonic() < deadline, text
                time.sleep(0.05)
                text = (data_dir.parent / "printed").read_text("utf-8")
            yield text
        finally:
            started.terminate()
            started.wait(20)


@pytest.fixture(scope="module")
def url(printed: str) -> str:
    found = re.search(r"ready on (\S+)", printed)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def answers(printed: str) -> list[str]:
    """What is answered to the printed lines, pasted into a shell as they are."""
    lines = "\n".join(f"{line}; echo" for line in _PASTED.findall(printed))
    done = subprocess.run(["/bin/sh", "-c", lines], capture_output=True, text=True, check=True, env=dict(os.environ))
    return [line for line in done.stdout.splitlines() if line]


def test_the_printed_lines_store_a_memory_and_recall_it(answers: list[str]) -> None:
    stored, recalled = map(json.loads, answers)
    assert stored["stored"] is True
    assert recalled["entries"][0]["content"] == "The customer prefers invoices in Swedish"


def test_it_names_the_folder_the_tenant_and_the_agent_that_it_uses(printed: str, data_dir: Path) -> None:
    told = dict(line.split(maxsplit=1) for line in printed.splitlines() if line.startswith("  "))
    assert (told["memories"], told["tenant"], told["agent"]) == (str(data_dir), "default", "default")
    assert told["command"] == "memory-gateway"


def test_the_printed_credential_may_list_what_it_stored(printed: str, url: str, answers: list[str]) -> None:
    assert answers
    token = re.search(r"export TOKEN=(\S+)", printed)
    assert token is not None
    listed = httpx.get(f"{url}/memories?agent_id=default", headers={"Authorization": f"Bearer {token[1]}"})
    assert [memory["content"] for memory in listed.json()["memories"]] == ["The customer prefers invoices in Swedish"]


def test_the_printed_link_signs_in_to_the_console_once(printed: str, url: str) -> None:
    found = re.search(rf"^{url}(/console/sign-in/link\?token=\S+)$", printed, re.MULTILINE)
    assert found is not None
    for status in (303, 401):
        with httpx.Client(base_url=url, headers={"Sec-Fetch-Site": "same-origin"}) as browser:
            token = re.search(r'name="token" value="([^"]+)"', browser.get(found[1]).text)
            assert token is not None
            assert browser.post("/console/sign-in/link", data={"token": token[1]}).status_code == status


def test_a_browser_that_opens_the_address_is_led_to_the_documentation(url: str) -> None:
    answer = httpx.get(url, follow_redirects=True)
    assert (answer.status_code, answer.url.path) == (200, "/docs")


def test_a_credential_of_another_folder_is_refused_and_told_what_to_look_at(url: str, tmp_path: Path) -> None:
    minted = run(tmp_path / "data", "token", AUTH_SECRETS="").stdout.strip()
    refused = httpx.get(f"{url}/memories", headers={"Authorization": f"Bearer {minted}"})
    assert refused.status_code == 401
    assert "DATA_DIR or AUTH_SECRETS" in refused.json()["detail"]


def test_where_the_port_is_taken_one_line_names_the_setting_and_nothing_is_begun(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path / "data", "serve", PORT=str(port))
    assert done.returncode == 1
    assert (
        f"Error: PORT {port} is taken on 127.0.0.1. Stop what listens there, or set another: PORT={port + 1}"
        in done.stderr.splitlines()
    )
    assert not (tmp_path / "data").exists()
