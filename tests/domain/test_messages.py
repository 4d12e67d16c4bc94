"""What makes two messages of a conversation one."""

import hashlib

from app.domain.messages import Role, message_id


def test_an_id_is_128_bits_of_sha_256_over_session_role_and_content() -> None:
    digest = hashlib.sha256('["call-17","user","Grüße, \\"you\\""]'.encode()).digest()
    assert message_id("call-17", "user", 'Grüße, "you"') == digest[:16].hex()


def test_parts_that_run_together_to_the_same_text_are_other_messages() -> None:
    said: list[tuple[str, Role, str]] = [("a", "user", "b"), ("auser", "user", "b"), ("a", "user", "userb")]
    assert len({message_id(*each) for each in said}) == len(said)
