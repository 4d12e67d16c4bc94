"""The account's R2 buckets as the REST API shows them: make, read, list and delete a bucket, and list its objects.

https://developers.cloudflare.com/api/resources/r2/subresources/buckets/
"""

import re
from collections.abc import Iterator

from memory_gateway_double.clock import Clock, timestamp
from memory_gateway_double.r2 import R2, BucketExists
from memory_gateway_double.routing import Route
from memory_gateway_double.v4 import ok, read_object, refused
from memory_gateway_double.wire import Reply, Request

TAKEN = 10004
NAME_INVALID = 10005
ABSENT = 10006
NOT_EMPTY = 10008

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")


class R2Buckets:
    """Answers for the buckets that ``R2`` keeps."""

    def __init__(self, r2: R2, clock: Clock) -> None:
        """Take the buckets."""
        self._r2 = r2
        self._made = timestamp(clock.now())

    def routes(self, account: str) -> Iterator[Route]:
        """Return the endpoints below the account's path."""
        base = f"{account}/r2/buckets"
        yield Route("r2_buckets.list", "GET", base, self._list)
        yield Route("r2_buckets.create", "POST", base, self._create)
        yield Route("r2_buckets.get", "GET", f"{base}/{{bucket}}", self._get)
        yield Route("r2_buckets.delete", "DELETE", f"{base}/{{bucket}}", self._delete)
        yield Route("r2_buckets.objects", "GET", f"{base}/{{bucket}}/objects", self._objects)

    async def _list(self, _: Request) -> Reply:
        return ok({"buckets": [self._summary(name) for name in sorted(self._r2.buckets())]})

    async def _create(self, request: Request) -> Reply:
        name = read_object(request, NAME_INVALID, "The request is malformed").get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise refused(400, NAME_INVALID, "The specified bucket name is not valid.")
        try:
            self._r2.create_bucket(name)
        except BucketExists as error:
            raise refused(409, TAKEN, "The bucket you tried to create already exists, and you own it.") from error
        return ok(self._summary(name))

    async def _get(self, request: Request) -> Reply:
        return ok(self._summary(self._find(request)))

    async def _delete(self, request: Request) -> Reply:
        name = self._find(request)
        if not self._r2.delete_bucket(name):
            raise refused(409, NOT_EMPTY, "The bucket you tried to delete is not empty.")
        return ok({})

    async def _objects(self, request: Request) -> Reply:
        objects = self._r2.objects(self._find(request))
        size = int(request.query.get("per_page", "1000"))
        shown = [{"key": key, "size": len(data)} for key, data in sorted(objects.items())[:size]]
        return ok(shown, info={"is_truncated": len(objects) > size})

    def _find(self, request: Request) -> str:
        name = request.parameters["bucket"]
        if name not in self._r2.buckets():
            raise refused(404, ABSENT, "The specified bucket does not exist.")
        return name

    def _summary(self, name: str) -> dict[str, object]:
        return {
            "name": name,
            "creation_date": self._made,
            "location": "weur",
            "storage_class": "Standard",
            "jurisdiction": "default",
        }
