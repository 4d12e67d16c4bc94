"""What is looked for in a text costs in proportion to its length, whatever the text is."""

from collections.abc import Mapping

import pytest

from app.adapters.local.sensitive_detector import PatternDetector
from app.domain.limits import CONTENT_BYTES
from app.domain.sensitive import LABELS
from app.services.tenant.screening import Screening
from tests.support.cost import best, within
from tests.support.secrets import FORMS

DETECTOR = PatternDetector(LABELS)
LIMIT = 0.15
"""Seconds for a content of the largest size. The worst of these texts takes a third of it."""
BEGUN = {f"begun {form}": content[: len(content) * 2 // 3] for form, (_, content) in FORMS.items()}
WHOLE = {form: f"{content} " for form, (_, content) in FORMS.items()}
MADE: Mapping[str, str] = {
    "prefixes of tokens": "eyJ",
    "tokens that are none": "eyJ.",
    "small tokens": "eyJhIjoxfQ.eyJhIjoxfQ ",
    "prefixes of keys": "sk-",
    "middles of keys": "a" * 20 + "T3BlbkFJ",
    "prefixes of agents": "glagent-",
    "digits": "4",
    "digits apart": "4 ",
    "groups of digits": "4444 ",
    "groups of a bank": "DE89 3704 0044 0532 0130 01 ",
    "countries": "DE12 ",
    "headers of keys": "-----BEGIN PRIVATE KEY-----\n",
    "keys without an end": "-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n",
    "lines of a header": "BEGIN PRIVATE KEY" + "Abcdefgh: x\n" * 90,
    "white space": "BEGIN PRIVATE KEY" + "\n" * 3000,
    "slashes": "/",
    "urls": "://a:",
    "a letter": "M",
    "secrets of clouds": "aws_secret_access_key= ",
    "hyphens": "-",
}


@pytest.mark.parametrize("text", [*MADE.values(), *BEGUN.values(), *WHOLE.values()], ids=[*MADE, *BEGUN, *WHOLE])
def test_no_content_costs_more_than_its_length(text: str) -> None:
    whole = (text * CONTENT_BYTES)[:CONTENT_BYTES]
    assert within(best(lambda: DETECTOR.find(whole)), LIMIT)


@pytest.mark.parametrize("text", MADE.values(), ids=MADE)
def test_to_mask_costs_no_more_than_some_looks(text: str) -> None:
    whole = (text * CONTENT_BYTES)[:CONTENT_BYTES]
    rule = Screening("mask", DETECTOR)
    assert within(best(lambda: rule.text(whole)), 3 * LIMIT)
