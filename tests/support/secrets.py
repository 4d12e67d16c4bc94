"""Made-up content that should not be kept, in the forms that its issuers document."""

from collections.abc import Mapping

from app.domain.sensitive import SensitiveKind

LETTERS = "Q7wXz93kLmN0pRs8TuVy2AbCdEf4GhJ6"
BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ"
    ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
)
TOKEN = f"ghp_{LETTERS}a1B2"
CARD = "4111111111111111"

_WITH_HEADERS = (
    "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n"
    f"{BASE64}\n-----END EC PRIVATE KEY-----"
)

FORMS: Mapping[str, tuple[SensitiveKind, str]] = {
    "aws access key": ("key", "AKIA" + "Q7XZ93KLMN0PRS8T"),
    "aws temporary key": ("key", "ASIA" + "Q7XZ93KLMN0PRS8T"),
    "azure storage": ("key", f"AccountKey={LETTERS}{LETTERS}{LETTERS[:22]}=="),
    "mailchimp": ("key", "a" * 16 + "0123456789abcdef-us12"),
    "sendgrid": ("key", f"SG.{LETTERS[:22]}.{LETTERS}{LETTERS[:11]}"),
    "square": ("key", f"sq0csp-{LETTERS}{LETTERS[:11]}"),
    "stripe": ("key", f"sk_live_{LETTERS[:24]}"),
    "stripe restricted": ("key", f"rk_live_{LETTERS[:24]}"),
    "stripe test": ("key", f"sk_test_{LETTERS}"),
    "twilio": ("key", "SK" + "0123456789abcdef" * 2),
    "openai of old": ("key", f"sk-{LETTERS[:20]}T3BlbkFJ{LETTERS[:20]}"),
    "openai project": ("key", f"sk-proj-{LETTERS}_{LETTERS}-T3BlbkFJ_{LETTERS}-{LETTERS}"),
    "anthropic": ("key", f"sk-ant-api03-{LETTERS}_{LETTERS}-{LETTERS[:27]}AA"),
    "google": ("key", f"AIza{LETTERS}abc"),
    "alibaba": ("key", f"LTAI{LETTERS[:20]}"),
    "cloudflare origin": ("key", "v1.0-" + "0123456789ab" * 2 + "-" + "0123456789abcdef" * 9 + "01"),
    "age": ("key", "AGE-SECRET-KEY-1" + LETTERS.upper() + LETTERS.upper()[:26]),
    "github": ("token", TOKEN),
    "github server": ("token", f"ghs_{LETTERS}a1B2"),
    "github fine-grained": ("token", f"github_pat_{LETTERS[:22]}_{LETTERS}{LETTERS[:27]}"),
    "gitlab": ("token", f"glpat-{LETTERS[:20]}"),
    "gitlab runner": ("token", f"glrt-{LETTERS[:26]}"),
    "gitlab trigger": ("token", f"glptt-{LETTERS}{LETTERS[:8]}"),
    "slack bot": ("token", f"xoxb-2345678901-2345678901234-{LETTERS[:24].lower()}"),
    "slack hook": ("token", f"https://hooks.slack.com/services/T01234567/B01234567/{LETTERS[:24]}"),
    "slack app": ("token", f"xapp-1-A0123456789-2345678901234-{'0123456789abcdef' * 4}"),
    "discord": ("token", f"MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{LETTERS[:27]}"),
    "telegram": ("token", f"110201543:{LETTERS}abc"),
    "npm": ("token", f"npm_{LETTERS}a1B2"),
    "pypi": ("token", f"pypi-AgEIcHlwaS5vcmc{LETTERS}{LETTERS}{LETTERS[:12]}"),
    "hugging face": ("token", "hf_" + "AbCdEfGhIjKlMnOpQr" + "StUvWxYzAbCdEfGh"),
    "databricks": ("token", "dapi" + "0123456789abcdef" * 2),
    "digitalocean": ("token", "dop_v1_" + "0123456789abcdef" * 4),
    "shopify": ("token", "shpat_" + "0123456789abcdef" * 2),
    "vault": ("token", f"hvs.{LETTERS}{LETTERS}"),
    "linear": ("token", f"lin_api_{LETTERS}{LETTERS[:8]}"),
    "jwt": ("token", JWT),
    "private key": (
        "private_key",
        f"-----BEGIN RSA PRIVATE KEY-----\n{BASE64}\n{BASE64}\n-----END RSA PRIVATE KEY-----",
    ),
    "private key in json": (
        "private_key",
        f"-----BEGIN PRIVATE KEY-----\\n{BASE64}\\n{BASE64}\\n-----END PRIVATE KEY-----",
    ),
    "encrypted key": (
        "private_key",
        f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{BASE64}\n-----END ENCRYPTED PRIVATE KEY-----",
    ),
    "key with headers": ("private_key", _WITH_HEADERS),
    "visa": ("card", CARD),
    "visa in groups": ("card", "4111 1111 1111 1111"),
    "mastercard": ("card", "5555-5555-5555-4444"),
    "mastercard of now": ("card", "2223003122003222"),
    "american express": ("card", "3782 822463 10005"),
    "discover": ("card", "6011111111111117"),
    "jcb": ("card", "3530111333300000"),
    "german account": ("iban", "DE89 3704 0044 0532 0130 00"),
    "british account": ("iban", "GB82WEST12345698765432"),
    "swedish account": ("iban", "SE45 5000 0000 0583 9825 7466"),
    "norwegian account": ("iban", "NO93 8601 1117 947"),
}
"""Whole texts that are content of a kind. Cards and accounts are the test numbers of their networks and registries."""

WITHIN: Mapping[str, tuple[SensitiveKind, str, str]] = {
    "password of a url": ("password", "postgresql://app:{}@db.internal/main", "hunter2-Tr0ub4dor"),
    "telegram in a url": ("token", "https://api.telegram.org/bot{}/getMe", f"110201543:{LETTERS}abc"),
    "aws secret": ("key", "AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"),
    "aws secret in json": ("key", '{{"aws_secret_access_key": "{}"}}', "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz"),
}
"""Texts around content that only they make content of a kind."""

ORDINARY = (
    "",
    "The API key is in the vault, under payments/stripe.",
    "Never commit a file with -----BEGIN RSA PRIVATE KEY----- in it.",
    "sk-learn and sk_live are names; ghp_ is how a token begins.",
    "Order 4111111111111112 was paid.",
    "Call +46 8 123 456 78, or 5555-5555.",
    "moment 1751328000000, id 01K2Z4M1V7Q8T3B5N6C7D8E9FA",
    "0.4111111111111111 and 4,111,111,111,111,111",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "AB12 CDEF 3456 7890 1234",
    "https://example.com:8443/a@b and mailto:ann@example.com",
    "DE89 3704 0044 0532 0130 01",
    "eyJAAAA.eyJBBB",
    "glpat_hellOworld380_testin",
    "4242 rows, 4242 rows, 4242 rows, 4242",
    "\ud7ff\u00e9\u4e2d 中文 текст",
)
"""Texts that have no such content."""
