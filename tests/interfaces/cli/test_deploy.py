"""What ``deploy cloudflare`` says before it does anything; tests/adapters/cloudflare has what it does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.support.deployments import NAME, NOTHING, Account, Deploying, refused, write_wrangler


@pytest.fixture
def deploying(tmp_path: Path) -> Iterator[Deploying]:
    write_wrangler(tmp_path)
    with running(DoubleOptions(visibility_seconds=(0, 0), limited_tokens={"looks": ["D1 Read"]})) as account:
        yield Deploying(account, tmp_path)


def test_a_plan_changes_nothing_and_asks_to_be_told(deploying: Deploying) -> None:
    for words, status in ((["--dry-run"], 0), ([], 2)):
        done = deploying.run(*words)
        assert done.exit_code == status, done.output
        assert "to create             D1 database memory-gateway" in done.output
        assert "Nothing was changed." in done.output
    assert deploying.writes() == []
    assert not deploying.file.exists()
    assert Account.of(deploying.account) == NOTHING


def test_a_token_without_rights_is_told_which(deploying: Deploying) -> None:
    told = refused(deploying, "--yes", CLOUDFLARE_API_TOKEN="looks")
    assert "Vectorize: Edit (the index); Workers R2 Storage: Edit (the bucket of the blobs); Workers Scripts" in told
    assert deploying.writes() == []


@pytest.mark.parametrize("name", ["a", "A-name", "1st", "ends-", "x" * 59, "../up", "a b"])
def test_a_name_that_a_resource_cannot_have_is_refused(deploying: Deploying, name: str) -> None:
    assert deploying.run("--yes", "--name", name).exit_code == 2
    assert deploying.account.double.requests() == []


def test_a_plan_and_its_doing_are_not_asked_for_at_once(deploying: Deploying) -> None:
    assert deploying.run("--yes", "--dry-run").exit_code == 2
    assert deploying.run("destroy", "--yes", "--dry-run", "--name", NAME).exit_code == 2
    assert deploying.account.double.requests() == []


def test_settings_that_lack_the_account_are_told(deploying: Deploying) -> None:
    assert "CLOUDFLARE_API_TOKEN is not set" in refused(deploying, "--dry-run", CLOUDFLARE_API_TOKEN="")


def test_a_file_that_cannot_be_read_is_told(deploying: Deploying) -> None:
    deploying.file.write_bytes(b"NAME=\xe9\n")
    assert f"--write-env: {deploying.file.name} cannot be read" in refused(deploying, "--dry-run")
    assert "memory-gateway.env cannot be" in refused(deploying, "--yes")
    assert deploying.account.double.requests() == []
