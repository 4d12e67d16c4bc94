"""What a server makes of its settings."""

import pytest

from app.interfaces.server import allowed_hosts
from app.settings import Settings

LOOPBACK = ["localhost", "127.0.0.1", "[::1]"]


@pytest.mark.parametrize(
    ("host", "allowed", "answered"),
    [
        ("127.0.0.1", "", LOOPBACK),
        ("127.1.2.3", "", [*LOOPBACK, "127.1.2.3"]),
        ("LOCALHOST", "", LOOPBACK),
        ("::ffff:127.0.0.1", "", [*LOOPBACK, "[::ffff:127.0.0.1]"]),
        ("::1", "", LOOPBACK),
        ("localhost", "", LOOPBACK),
        ("192.0.2.1", "", []),
        ("127.0.0.1", "*", []),
        ("127.0.0.1", "Memory.example, localhost", [*LOOPBACK, "memory.example", "localhost"]),
        ("192.0.2.1", "memory.example", [*LOOPBACK, "memory.example", "192.0.2.1"]),
    ],
)
def test_on_a_loopback_address_only_its_names_are_answered_unless_others_are_set(
    host: str, allowed: str, answered: list[str]
) -> None:
    assert allowed_hosts(Settings(host=host, allowed_hosts=allowed)) == answered
