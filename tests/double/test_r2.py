"""The double's bucket, as a client of S3 sees it."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from memory_gateway_double.account import DoubleOptions
from memory_gateway_double.server import Handle, running


@pytest.fixture(scope="module")
def double() -> Iterator[Handle]:
    with running(DoubleOptions(rate_limit=False)) as handle:
        yield handle


def asked(double: Handle, method: str, path: str, body: bytes = b"", *, key: str | None = None) -> httpx.Response:
    key = key or double.double.options.r2_access_key_id
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "x-amz-date": "20260101T000000Z",
        "x-amz-content-sha256": digest,
        "authorization": (
            f"AWS4-HMAC-SHA256 Credential={key}/20260101/auto/s3/aws4_request, "
            f"SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={'0' * 64}"
        ),
    }
    return httpx.request(method, double.r2_url + path, headers=headers, content=body)


def test_an_object_is_put_told_of_read_and_deleted(double: Handle) -> None:
    path = f"/{double.double.options.r2_bucket}/a/b%20c"
    assert asked(double, "PUT", path, b"bytes").status_code == 200
    assert double.double.r2.objects() == {"a/b c": b"bytes"}
    head = asked(double, "HEAD", path)
    assert (head.status_code, head.headers["content-length"]) == (200, "5")
    assert asked(double, "GET", path).content == b"bytes"
    assert [asked(double, "DELETE", path).status_code for _ in range(2)] == [204, 204]
    missing = asked(double, "GET", path)
    assert (missing.status_code, "<Code>NoSuchKey</Code>" in missing.text) == (404, True)


def test_who_does_not_sign_or_by_another_key_is_refused(double: Handle) -> None:
    path = f"/{double.double.options.r2_bucket}/a"
    assert httpx.get(double.r2_url + path).status_code == 400
    assert asked(double, "GET", path, key="another").status_code == 403
    assert asked(double, "GET", "/another/a").text.count("NoSuchBucket") == 1


def test_what_was_put_is_there_when_it_is_started_anew(tmp_path: Path) -> None:
    for written in (True, False):
        with running(DoubleOptions(data_dir=tmp_path)) as handle:
            if written:
                handle.double.r2.put("a", b"x")
                handle.double.r2.put("b", b"y")
                handle.double.r2.remove("b")
            assert handle.double.r2.objects() == {"a": b"x"}
