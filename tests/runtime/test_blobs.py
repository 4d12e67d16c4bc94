"""Where blobs lie, by the settings, and what the doctor says of it."""

from pathlib import Path
from typing import Any

import pytest

from app.bootstrap import build_runtime
from app.domain.errors import ConfigurationError
from app.runtime.doctor import Check, diagnose
from app.runtime.runtime import Runtime
from tests.support.backends import Backend, running_on
from tests.support.service import serving, settings_for

ACCOUNT: dict[str, Any] = {
    "cloudflare_account_id": "1" * 32,
    "cloudflare_api_token": "token",
    "cloudflare_d1_database_id": "01234567-89ab-cdef-0123-456789abcdef",
    "openai_api_key": "key",
}
BUCKET = {"r2_bucket": "blobs", "r2_access_key_id": "id", "r2_secret_access_key": "secret"}
NONE: dict[str, Any] = dict.fromkeys((*BUCKET, "r2_endpoint"))


def built(tmp_path: Path, **settings: Any) -> Runtime:
    return build_runtime(settings_for(tmp_path / "data", **settings))


async def blobs_of(runtime: Runtime) -> Check:
    (found,) = [check for check in await diagnose(runtime) if check.name == "blobs"]
    return found


async def test_the_embedded_default_keeps_blobs_beside_its_database(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        assert await blobs_of(service.runtime) == Check("blobs", ok=True, finding="folder")
        services = service.runtime.services("acme")
        sent = await services.blobs.put("bot", b"x", "text/plain")
        assert (tmp_path / "blobs" / "t" / "acme" / sent.id).read_bytes() == b"x"


@pytest.mark.parametrize(("given", "backend"), [({}, "none"), (BUCKET, "r2")])
async def test_on_cloudflare_there_is_a_bucket_or_there_are_no_blobs(
    tmp_path: Path, given: dict[str, str], backend: str
) -> None:
    assert built(tmp_path, **ACCOUNT, **given).backends.objects.backend == backend


def test_a_bucket_of_an_account_without_an_id_needs_an_endpoint(tmp_path: Path) -> None:
    container = {**ACCOUNT, **BUCKET, "cloudflare_account_id": "0" * 32}
    with pytest.raises(ConfigurationError, match="R2_ENDPOINT is not set"):
        built(tmp_path, **container)
    there = built(tmp_path, **container, r2_endpoint=f"https://{'1' * 32}.r2.cloudflarestorage.com")
    assert there.backends.objects.backend == "r2"


@pytest.mark.parametrize("missing", BUCKET)
async def test_half_a_bucket_is_refused_by_the_name_of_what_is_missing(tmp_path: Path, missing: str) -> None:
    given = {name: value for name, value in BUCKET.items() if name != missing}
    with pytest.raises(ConfigurationError, match=f"{missing.upper()} is not set"):
        built(tmp_path, **ACCOUNT, **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [("r2_bucket", "a/b"), ("r2_bucket", "-a-"), ("r2_access_key_id", "a b"), ("r2_endpoint", "r2.example.com")],
)
def test_a_setting_that_cannot_work_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ValueError, match=name):
        settings_for(tmp_path, **{name: value})


@pytest.mark.parametrize(
    ("change", "ok", "warning", "says"),
    [
        ({}, True, False, "r2"),
        (NONE, True, True, "R2_BUCKET, R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY are not set"),
        ({"r2_access_key_id": "another"}, True, True, "Check R2_ACCESS_KEY_ID"),
        ({"r2_bucket": "another"}, True, True, "Check R2_BUCKET"),
    ],
)
async def test_the_doctor_says_on_cloudflare_whether_there_are_blobs(
    tmp_path: Path, change: dict[str, Any], *, ok: bool, warning: bool, says: str
) -> None:
    with running_on("cloudflare") as backend:
        check = await _diagnosed(tmp_path, backend, change)
    assert (check.ok, check.warning) == (ok, warning)
    assert says in check.finding


async def _diagnosed(tmp_path: Path, backend: Backend, change: dict[str, Any]) -> Check:
    async with serving(tmp_path, on=backend, **change) as service:
        assert (await service.client.get("/readyz")).status_code == 200
        return await blobs_of(service.runtime)
