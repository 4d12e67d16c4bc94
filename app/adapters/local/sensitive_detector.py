"""Finds keys and tokens by the plugins of detect-secrets, and card and account numbers by the checksums of stdnum.

Only the patterns of the plugins are used: their settings are of a whole process, and their searches return a part of
what they match. Three patterns take quadratic time on a text that is made for it; these are tried only where a word
begins.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from string import ascii_uppercase
from typing import Final, TypeAlias

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector
from stdnum import iban, luhn, numdb

from app.domain.sensitive import SensitiveKind, SensitiveSpan

_Spans: TypeAlias = Iterator[tuple[int, int]]

# Formats that their vendors document, and that detect-secrets 1.5 has no plugin for.
_KEYS: Final = re.compile(
    r"sk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{40,}"  # Anthropic
    r"|sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}"  # OpenAI, since 2024
    r"|AIza[A-Za-z0-9_-]{35}"  # Google
    r"|(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{24,}|whsec_[A-Za-z0-9+/]{32,}"  # Stripe
    r"|LTAI[A-Za-z0-9]{20}"  # Alibaba
    r"|v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"  # Cloudflare's origin CA
    r"|AGE-SECRET-KEY-1[A-Z0-9]{58}"
)
_TOKENS: Final = re.compile(
    r"github_pat_[A-Za-z0-9_]{36,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z]{34}|dapi[a-f0-9]{32}|do[opr]_v1_[a-f0-9]{64}"
    r"|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]{32,}|hvs\.[A-Za-z0-9_-]{24,}"
    r"|ATATT3[A-Za-z0-9_=-]{100,}|lin_api_[A-Za-z0-9]{40}|ops_eyJ[A-Za-z0-9+/]{250,}"
)
_AWS_SECRET: Final = re.compile(
    r"(?i:aws_?secret(?:_?access)?_?key)[\"']?[ \t]{0,3}[=:][ \t]{0,3}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
_PREFIX: Final = re.compile(
    r"(?:sk-|AIza|sk_|rk_|whsec_|LTAI|v1\.0-|AGE-|github_pat_|npm_|hf_|dapi|do[opr]_v1_|shp[acps]|xapp-|hvs\.|ATATT3"
    r"|lin_api_|ops_eyJ|gl[a-z]{2,5}-|GR1348941|eyJ)"
)
"""The beginnings of what is tried only where a word begins."""
_WORD: Final = re.compile(r"[A-Za-z0-9_-]*")
_BEGINS_WORD: Final = re.compile(r"(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=\bbot)")

_BODY: Final = re.compile(r"(?:\s|\\[nrt]|-|[A-Z][A-Za-z-]{3,20}: [^\n\\]{0,100}(?=\n|\\)){0,80}+[A-Za-z0-9+/]{32}")
"""The beginning of a private key's bytes, behind lines such as ``DEK-Info``."""
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]{40,64}")
_REST: Final = re.compile(r"(?:[A-Za-z0-9+/=]|\s|\\[nrt])*")
_ENCRYPTED: Final = re.compile("BEGIN ENCRYPTED PRIVATE KEY|PuTTY-User-Key-File-3")

_CARD: Final = re.compile(
    r"(?<![\w.,/-])(?=([2-6](?:[0-9]{13,18}|[0-9]{3}(?:[ -][0-9]{4}){2}[ -][0-9]{1,7}"
    r"|[0-9]{3}[ -][0-9]{6}[ -][0-9]{4,5}))(?![\w-]|[.,][0-9]))"
)
_ISSUERS: Final = re.compile(
    r"4(?:.{15}|.{18})|5[1-5].{14}|2(?:22[1-9]|2[3-9].|[3-6]..|7[01].|720).{12}"  # Visa, Mastercard
    r"|3[47].{13}|3(?:0[0-5]|[689].).{11}|35(?:2[89]|[3-8].).{12}"  # American Express, Diners Club, JCB
    r"|6(?:011|5..|4[4-9].).{12}|62.{14,17}|(?:5[06-9]|6[37]).{14,17}"  # Discover, UnionPay, Maestro
)
_IBAN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?=([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)(?![A-Za-z0-9]))"
)


@cache
def _iban_lengths() -> Mapping[str, int]:
    """Return the length of an IBAN by its country."""
    countries = ("".join(letters) for letters in product(ascii_uppercase, repeat=2))
    forms = {country: numdb.get("iban").info(country)[0][1].get("bban", "") for country in countries}
    return {country: 4 + sum(map(int, re.findall("[0-9]+", form))) for country, form in forms.items() if form}


def _whole(*patterns: re.Pattern[str], needs: str = "") -> Callable[[str], _Spans]:
    """Return a function that yields what patterns match, with the rest of the word; ``needs``: a text that each has."""

    def find(text: str) -> _Spans:
        if needs in text:
            for pattern in patterns:
                for match in pattern.finditer(text):
                    if match.start() == 0 or _BEGINS_WORD.match(text, match.start()):
                        yield match.start(), _word_end(text, match.end())

    return find


def _part(pattern: re.Pattern[str]) -> Callable[[str], _Spans]:
    """Return a function that yields the first group of what a pattern matches."""
    return lambda text: (match.span(1) for match in pattern.finditer(text))


def _word_end(text: str, start: int) -> int:
    match = _WORD.match(text, start)
    return start if match is None else match.end()


def _beginning(*patterns: re.Pattern[str], valid: Callable[[str], bool] = bool) -> Callable[[str], _Spans]:
    """Return a function that yields what patterns match where a word begins, with the rest of the word."""

    def find(text: str) -> _Spans:
        for prefix in _PREFIX.finditer(text):
            start = prefix.start()
            if _BEGINS_WORD.match(text, start):
                for pattern in patterns:
                    match = pattern.match(text, start)
                    if match is not None and valid(match[0]):
                        yield start, _word_end(text, match.end())
                        break

    return find


def _private_keys(text: str) -> _Spans:
    if "PRIVATE KEY" not in text and "PuTTY" not in text:
        return
    headers = sorted(
        match.span() for pattern in (*PrivateKeyDetector.denylist, _ENCRYPTED) for match in pattern.finditer(text)
    )
    done, ends = 0, True
    for start, end in headers:
        body = _BODY.match(text, end)
        if start < done or body is None:
            continue
        closing = _END.search(text, body.end()) if ends else None
        ends = closing is not None
        last = closing or _REST.match(text, body.end()) or body
        done = last.end()
        yield len(text[:start].rstrip("-")), done


def _cards(text: str) -> _Spans:
    for match in _CARD.finditer(text):
        digits = match[1].replace(" ", "").replace("-", "")
        if _ISSUERS.fullmatch(digits) and luhn.is_valid(digits):
            yield match.span(1)


def _ibans(text: str) -> _Spans:
    for match in _IBAN.finditer(text):
        length = _iban_lengths().get(match[1][:2], 0)
        number = re.match(f"(?: ?[A-Z0-9]){{{length}}}(?![A-Za-z0-9])", match[1]) if length else None
        if number is not None and iban.is_valid(number[0], check_country=False):
            yield match.start(1), match.start(1) + number.end()


_FINDERS: Final[Sequence[tuple[SensitiveKind, Callable[[str], _Spans]]]] = (
    ("private_key", _private_keys),
    ("password", _part(BasicAuthDetector.denylist[0])),
    ("key", _whole(AWSKeyDetector.denylist[0])),
    ("key", _part(_AWS_SECRET)),
    ("key", _whole(*AzureStorageKeyDetector.denylist, needs="AccountKey=")),
    ("key", _whole(*MailchimpDetector.denylist, needs="-us")),
    ("key", _whole(*SendGridDetector.denylist, needs="SG.")),
    ("key", _whole(*SquareOAuthDetector.denylist, needs="sq0csp-")),
    ("key", _whole(*StripeDetector.denylist, needs="k_live_")),
    ("key", _whole(TwilioKeyDetector.denylist[1])),  # the other one is the name of an account
    ("key", _beginning(*OpenAIDetector.denylist, _KEYS)),
    ("token", _beginning(*GitLabTokenDetector.denylist, _TOKENS)),
    ("token", _beginning(*JwtTokenDetector.denylist, valid=JwtTokenDetector.is_formally_valid)),
    ("token", _whole(*GitHubTokenDetector.denylist, needs="gh")),
    ("token", _whole(*SlackDetector.denylist)),
    ("token", _whole(*DiscordBotTokenDetector.denylist, needs=".")),
    ("token", _whole(*TelegramBotTokenDetector.denylist, needs=":")),
    ("token", _whole(*PypiTokenDetector.denylist, needs="pypi-")),
    ("card", _cards),
    ("iban", _ibans),
)


class PatternDetector:
    """Finds content of some kinds by its form and its checksum. Implements ``SensitiveDetector``."""

    def __init__(self, kinds: Collection[SensitiveKind]) -> None:
        """Take the kinds that are looked for."""
        self._finders = [(kind, find) for kind, find in _FINDERS if kind in kinds]

    def find(self, text: str) -> Sequence[SensitiveSpan]:
        """Return the parts of a text that should not be kept; see ``SensitiveDetector.find``."""
        found = sorted((start, -end, kind) for kind, find in self._finders for start, end in find(text))
        spans: list[SensitiveSpan] = []
        for start, behind, kind in found:
            last = spans[-1] if spans else None
            if last is None or start >= last.end:
                spans.append(SensitiveSpan(kind, start, -behind))
            elif -behind > last.end:
                spans[-1] = SensitiveSpan(last.kind, last.start, -behind)
        return spans
