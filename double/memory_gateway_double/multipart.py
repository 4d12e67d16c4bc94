"""Reads the forms that clients upload: one value each, small in number."""

from email.parser import BytesParser
from email.policy import HTTP


def form_field(content_type: str, body: bytes, name: str) -> bytes | None:
    """Return the field of a ``multipart/form-data`` body, or None where there is none of this name."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    form = BytesParser(policy=HTTP).parsebytes(head + body)
    for part in form.iter_parts():
        if part.get_param("name", header="content-disposition") == name:
            content = part.get_payload(decode=True)
            return content if isinstance(content, bytes) else b""
    return None


def form_files(content_type: str, body: bytes) -> dict[str, bytes]:
    """Return every field of a ``multipart/form-data`` body by its name."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    found: dict[str, bytes] = {}
    for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
        name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            found[name] = content
    return found
