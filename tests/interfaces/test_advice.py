"""What to do about an error: every one says it, and waiting is advised only where waiting helps."""

import re

import pytest

from app.domain.advice import advice
from app.domain.embedding import EmbeddingConfig
from app.domain.errors import (
    CircuitOpen,
    ContentTooLarge,
    CredentialsRefused,
    EmbeddingConfigMismatch,
    Forbidden,
    InvalidRequest,
    LongTermDisabled,
    MemoryGatewayError,
    QuotaExceeded,
    QuotaExhausted,
    RateLimited,
    Unavailable,
    UpstreamOverloaded,
)
from tests.domain.test_errors import tree

CONFIG = EmbeddingConfig("hashing", "ngrams-v1", 384)


def made(kind: type[MemoryGatewayError]) -> MemoryGatewayError:
    if kind is EmbeddingConfigMismatch:
        return EmbeddingConfigMismatch(stored=CONFIG, configured=CONFIG)
    if issubclass(kind, QuotaExceeded):
        return kind("detail", reached="memories")
    if issubclass(kind, RateLimited | CircuitOpen):
        return kind("detail", retry_after=7)
    return kind() if kind is LongTermDisabled else kind("detail")


@pytest.mark.parametrize("kind", tree().values(), ids=lambda kind: kind.code)
def test_every_error_says_in_a_sentence_what_to_do(kind: type[MemoryGatewayError]) -> None:
    assert re.fullmatch(r"[A-Z][^\n]{10,150}\.", advice(made(kind)))


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RateLimited("full", retry_after=7), "Wait 7 s"),
        (Unavailable("away"), "Wait 1 s"),
        (UpstreamOverloaded("busy"), "Wait 5 s"),
        (QuotaExceeded("full", reached="stores_per_minute", retry_after=12), "Wait 12 s"),
        (QuotaExceeded("full", reached="memories"), "operator"),
        (QuotaExhausted("used up"), "operator"),
        (CredentialsRefused("refused"), "operator"),
        (ContentTooLarge("long"), "Shorten"),
        (InvalidRequest("wrong"), "Correct"),
        (Forbidden("not yours"), "operator"),
        (MemoryGatewayError("a defect"), "operator"),
        (LongTermDisabled(), "without long-term memory"),
    ],
)
def test_it_is_to_wait_to_shorten_to_correct_or_to_ask_the_operator(error: MemoryGatewayError, says: str) -> None:
    assert says in advice(error)
    assert ("Wait" in advice(error)) == (getattr(error, "retry_after", None) is not None)
