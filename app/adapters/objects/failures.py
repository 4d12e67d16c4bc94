"""Maps obstore's exceptions to errors of the tree. Their texts quote keys and bodies, so none of them is repeated."""

import errno
import re

import structlog

from app.domain.errors import (
    CredentialsRefused,
    DatabaseUnavailable,
    MemoryGatewayError,
    RateLimited,
    StorageFull,
    StorageReadOnly,
    UpstreamOverloaded,
    UpstreamRejected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from app.ports.object_store import ObjectMissing

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_OS_ERROR = re.compile(r"\(os error (\d{1,5})\)")
_NO_KEY = "NoSuchKey"
_TOO_MANY = 429
_PASSING: dict[int, type[UpstreamOverloaded | UpstreamTimeout]] = {
    503: UpstreamOverloaded,
    529: UpstreamOverloaded,
    408: UpstreamTimeout,
    504: UpstreamTimeout,
}
_SERVER_ERRORS = 500
_WAIT_SECONDS = 5
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


def of_r2(error: Exception, operation: str) -> MemoryGatewayError | ObjectMissing:
    """Return the error for an exception of obstore, or for a deadline that has passed, on R2."""
    if isinstance(error, TimeoutError):
        return UpstreamTimeout(f"The object store did not answer {operation} in time.")
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    if status is None:
        return UpstreamUnavailable(f"The object store could not be reached, or broke off its answer to {operation}.")
    return _refusal(int(status[1]), code[1] if code else "no code", operation)


def _refusal(status: int, code: str, operation: str) -> MemoryGatewayError | ObjectMissing:
    said = f"The object store answered {operation} with {status} ({code})."
    if status in {401, 403}:
        structlog.get_logger().error("credentials_refused", upstream="r2", status=status, code=code)
        return CredentialsRefused(said, cure="Check R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY and R2_BUCKET.")
    if code == _NO_KEY:
        return ObjectMissing()
    if status == _TOO_MANY:
        return RateLimited(said, retry_after=_WAIT_SECONDS)
    if status in _PASSING:
        return _PASSING[status](said)
    if status >= _SERVER_ERRORS:
        return UpstreamUnavailable(said)
    return UpstreamRejected(said, cure="Check R2_BUCKET and R2_ENDPOINT.")


def of_folder(error: Exception, operation: str) -> MemoryGatewayError | ObjectMissing:
    """Return the error for an exception of obstore, or of the operating system, on a folder."""
    if isinstance(error, FileNotFoundError):
        return ObjectMissing()
    if isinstance(error, TimeoutError):
        return DatabaseUnavailable(f"The folder of blobs did not answer {operation} in time.")
    told = _OS_ERROR.search(str(error))
    number = int(told[1]) if told else error.errno if isinstance(error, OSError) else None
    if number in _FULL:
        return StorageFull("Blobs cannot be written: the disk, or a limit on it, is full.")
    if number in _READ_ONLY:
        return StorageReadOnly("The folder of blobs cannot be written, or not be read.")
    return DatabaseUnavailable(f"The folder of blobs cannot be used ({operation}).")
