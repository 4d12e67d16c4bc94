"""``deploy cloudflare destroy`` takes back what a deployment has made, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import running
from tests.support.deployments import NAME, NOTHING, WORKER, Account, Deploying, refused, whole, write_wrangler

pytestmark = pytest.mark.thorough

LIMITED = {"no-vectors": ["D1 Write", "Vectorize Read", "Workers R2 Storage Write", "Workers Scripts Write"]}


@pytest.fixture
def deploying(tmp_path: Path) -> Iterator[Deploying]:
    write_wrangler(tmp_path)
    with running(DoubleOptions(visibility_seconds=(0, 0), rate_limit=False, limited_tokens=LIMITED)) as account:
        yield Deploying(account, tmp_path)


def test_destroy_takes_all_back_and_can_be_run_twice(deploying: Deploying) -> None:
    deploying.run("--yes")
    assert deploying.run("destroy", "--dry-run").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)
    assert deploying.run("destroy", "--yes", typed="another\n").exit_code == 1
    assert deploying.run("destroy", "--yes", typed="").exit_code == 1
    assert Account.of(deploying.account) == whole(deploying)
    for _ in range(2):
        done = deploying.run("destroy", "--yes", typed=f"{NAME}\n")
        assert done.exit_code == 0, done.output
        assert Account.of(deploying.account) == NOTHING
    assert "There is nothing of memory-gateway to delete." in done.output
    assert deploying.run("--yes").exit_code == 0
    assert Account.of(deploying.account) == whole(deploying)


def test_a_bucket_with_blobs_goes_only_when_told(deploying: Deploying) -> None:
    deploying.run("--yes")
    double = deploying.account.double
    for number in range(3):
        double.r2.put(f"tenant/{number}", b"x", bucket=NAME)
    assert "--with-data" in refused(deploying, "destroy", "--yes", "--name", NAME)
    assert Account.of(deploying.account) == whole(deploying)
    assert deploying.run("destroy", "--yes", "--name", NAME, "--with-data").exit_code == 0
    assert Account.of(deploying.account) == NOTHING


def test_destroy_leaves_what_other_commands_have_made(deploying: Deploying) -> None:
    deploying.run("--yes")
    double = deploying.account.double
    database = deploying.kept["CLOUDFLARE_D1_DATABASE_ID"]
    shard = double.create_database("memory-gateway-east")
    deploying.run_sql(database, f"INSERT INTO shards (name, database_id, added_at) VALUES ('east', '{shard}', 1)")
    assert "It is a shard of this service" in refused(deploying, "destroy", "--yes", "--name", NAME)
    assert deploying.run("--yes").exit_code == 0  # with the shard's bindings
    bound = {each["name"] for each in double.workers.scripts[WORKER].bindings}
    assert {"DB", "DB_EAST", "VECTORS", "VECTORS_EAST"} <= bound
    double.workers.scripts.clear()
    assert "It is a shard of this service" in refused(deploying, "destroy", "--yes", "--name", NAME)


def test_a_token_that_may_not_delete_is_told_before_anything_is_deleted(deploying: Deploying) -> None:
    deploying.run("--yes")
    told = refused(deploying, "destroy", "--yes", "--name", NAME, CLOUDFLARE_API_TOKEN="no-vectors")
    assert "Vectorize: Edit" in told
    assert Account.of(deploying.account) == whole(deploying)


def test_a_deployment_without_blobs_and_a_worker_needs_no_right_to_them(tmp_path: Path) -> None:
    write_wrangler(tmp_path)
    limited = {"two": ["D1 Write", "Vectorize Write"]}
    with running(DoubleOptions(visibility_seconds=(0, 0), limited_tokens=limited)) as account:
        deploying = Deploying(account, tmp_path, {"CLOUDFLARE_API_TOKEN": "two"})
        done = deploying.run("--yes", "--no-blobs", "--no-edge")
        assert done.exit_code == 0, done.output
        assert "--env CLOUDFLARE_API_TOKEN" in done.output
        assert {"EDGE_SECRET", "CLOUDFLARE_API_TOKEN"}.isdisjoint(deploying.kept)
        assert deploying.run("destroy", "--yes", "--name", NAME).exit_code == 0
        assert Account.of(account) == NOTHING
