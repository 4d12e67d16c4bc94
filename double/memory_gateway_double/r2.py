"""The R2 buckets as their S3 API shows them: put, get, head and delete an object, and list them; paths name the bucket.

https://developers.cloudflare.com/r2/api/s3/api/
"""

import hashlib
import re
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, unescape

from memory_gateway_double.clock import Clock
from memory_gateway_double.journal import Journal
from memory_gateway_double.routing import Route
from memory_gateway_double.wire import Refusal, Reply, Request

PREFIX = "/r2"
OPERATION = "r2."
XML = "application/xml"

_STORE = "r2"
_MOST_KEYS = 1_000
_KEY_BYTES = 1_024
_DECLARED = '<?xml version="1.0" encoding="UTF-8"?>'
_KEY = re.compile("<Key>([^<]*)</Key>")
_QUOTES = {"&quot;": '"', "&apos;": "'"}
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/auto/s3/aws4_request, ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=[0-9a-f]{64}"
)


def s3_error(status: int, code: str, message: str) -> Refusal:
    """Refuse in S3's form."""
    body = f"{_DECLARED}<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    return Refusal(Reply(status, body.encode(), XML))


@dataclass(frozen=True, slots=True)
class _Object:
    data: bytes
    media_type: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'


class BucketExists(Exception):
    """There is a bucket of this name."""


class R2:
    """The account's buckets, of which the first is there from the start. Its methods are safe from any thread."""

    def __init__(self, journal: Journal, clock: Clock, bucket: str, access_key_ids: Collection[str]) -> None:
        """Read what the journal has of the buckets; ``bucket`` is the first one, which methods mean without a name."""
        self._journal = journal
        self._clock = clock
        self._first = bucket
        self._access_key_ids = access_key_ids
        self._lock = threading.Lock()
        self._buckets: dict[str, dict[str, _Object]] = {bucket: {}}
        for kind, facts, content in journal.events(_STORE):
            name = str(facts.get("bucket", bucket))
            if kind == "put":
                self._buckets[name][str(facts["key"])] = _Object(content, str(facts["media_type"]))
            elif kind == "delete":
                self._buckets[name].pop(str(facts["key"]), None)
            elif kind == "create_bucket":
                self._buckets[name] = {}
            else:
                self._buckets.pop(name, None)

    def buckets(self) -> list[str]:
        """Return the names of the buckets."""
        with self._lock:
            return list(self._buckets)

    def create_bucket(self, name: str) -> None:
        """Make an empty bucket; raises ``BucketExists`` where the name is taken."""
        with self._lock:
            if name in self._buckets:
                raise BucketExists
            self._buckets[name] = {}
            self._journal.record(_STORE, "create_bucket", {"bucket": name})

    def delete_bucket(self, name: str) -> bool:
        """Delete a bucket that is empty; return whether it was."""
        with self._lock:
            if self._buckets.get(name):
                return False
            self._buckets.pop(name, None)
            self._journal.record(_STORE, "delete_bucket", {"bucket": name})
            return True

    def objects(self, bucket: str | None = None) -> dict[str, bytes]:
        """Return every object of a bucket by its key."""
        with self._lock:
            return {key: each.data for key, each in self._buckets[bucket or self._first].items()}

    def put(
        self, key: str, data: bytes, media_type: str = "application/octet-stream", *, bucket: str | None = None
    ) -> None:
        """Write an object without a call."""
        name = bucket or self._first
        with self._lock:
            self._buckets[name][key] = _Object(data, media_type)
            self._journal.record(_STORE, "put", {"bucket": name, "key": key, "media_type": media_type}, data)

    def remove(self, key: str, *, bucket: str | None = None) -> None:
        """Lose an object without a call."""
        name = bucket or self._first
        with self._lock:
            if self._buckets[name].pop(key, None) is not None:
                self._journal.record(_STORE, "delete", {"bucket": name, "key": key})

    def routes(self) -> Iterator[Route]:
        """Return the endpoints."""
        path = f"{PREFIX}/{{bucket}}/{{key*}}"
        yield Route(f"{OPERATION}put", "PUT", path, self._put)
        yield Route(f"{OPERATION}get", "GET", path, self._get)
        yield Route(f"{OPERATION}head", "HEAD", path, self._head)
        yield Route(f"{OPERATION}delete", "DELETE", path, self._delete)
        yield Route(f"{OPERATION}delete", "POST", f"{PREFIX}/{{bucket}}", self._delete_several)
        yield Route(f"{OPERATION}list", "GET", f"{PREFIX}/{{bucket}}", self._list)

    def admit(self, request: Request) -> None:
        """Check who signs, over what, and that the body is the one that was signed; no signature is computed.

        Raises:
            Refusal: the request is not signed, or by another key.
        """
        signed = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
        if signed is None:
            raise s3_error(400, "InvalidArgument", "Authorization")
        needed = {"host", "x-amz-date", "x-amz-content-sha256"}
        digest = hashlib.sha256(request.body).hexdigest()
        if signed["key"] not in self._access_key_ids or not needed <= set(signed["headers"].split(";")):
            raise s3_error(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")
        if request.headers.get("x-amz-content-sha256") != digest:
            raise s3_error(400, "XAmzContentSHA256Mismatch", "The content hash does not match the content.")

    def _object(self, request: Request) -> _Object:
        bucket = self._bucket_of(request)
        with self._lock:
            found = self._buckets[bucket].get(request.parameters["key"])
        if found is None:
            raise s3_error(404, "NoSuchKey", "The specified key does not exist.")
        return found

    def _bucket_of(self, request: Request) -> str:
        bucket = request.parameters["bucket"]
        if bucket not in self._buckets:
            raise s3_error(404, "NoSuchBucket", "The specified bucket does not exist.")
        return bucket

    async def _put(self, request: Request) -> Reply:
        bucket, key = self._bucket_of(request), request.parameters["key"]
        if len(key.encode()) > _KEY_BYTES:
            raise s3_error(400, "KeyTooLongError", "Your key is too long.")
        self.put(key, request.body, request.headers.get("content-type", "application/octet-stream"), bucket=bucket)
        return Reply(200, b"", XML, {"etag": self._buckets[bucket][key].etag})

    async def _get(self, request: Request) -> Reply:
        found = self._object(request)
        return Reply(200, found.data, found.media_type, self._told(found))

    async def _head(self, request: Request) -> Reply:
        found = self._object(request)
        return Reply(200, b"", found.media_type, {**self._told(found), "content-length": str(len(found.data))})

    def _told(self, found: _Object) -> dict[str, str]:
        return {"etag": found.etag, "last-modified": self._clock.http_date()}

    async def _delete(self, request: Request) -> Reply:
        self.remove(request.parameters["key"], bucket=self._bucket_of(request))
        return Reply(204, b"", XML)

    async def _delete_several(self, request: Request) -> Reply:
        """DeleteObjects, which some clients use for a single one too."""
        bucket = self._bucket_of(request)
        if "delete" not in request.query:
            raise s3_error(501, "NotImplemented", "Only DeleteObjects is posted here.")
        keys = [unescape(key, _QUOTES) for key in _KEY.findall(request.body.decode())]
        for key in keys:
            self.remove(key, bucket=bucket)
        deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        return Reply(200, f"{_DECLARED}<DeleteResult>{deleted}</DeleteResult>".encode(), XML)

    async def _list(self, request: Request) -> Reply:
        bucket = self._bucket_of(request)
        if request.query.get("list-type") != "2":
            raise s3_error(501, "NotImplemented", "ListObjects is not implemented.")
        most = min(int(request.query.get("max-keys", _MOST_KEYS)), _MOST_KEYS)
        prefix = request.query.get("prefix", "")
        after = request.query.get("continuation-token") or request.query.get("start-after", "")
        with self._lock:
            held = dict(self._buckets[bucket])
        keys = sorted((key for key in held if key.startswith(prefix)), key=str.encode)
        behind = [key for key in keys if key.encode() > after.encode()]
        page, more = behind[:most], len(behind) > most
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(held[key].etag)}</ETag><Size>{len(held[key].data)}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key in page
        )
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        body = (
            f'{_DECLARED}<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
            f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>{token}{entries}"
            "</ListBucketResult>"
        )
        return Reply(200, body.encode(), XML)
