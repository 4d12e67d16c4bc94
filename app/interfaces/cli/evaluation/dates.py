"""Dates as data sets write them, made into RFC 3339."""

from datetime import UTC, datetime

FORMS = (
    "%I:%M %p on %d %B, %Y",  # 1:56 pm on 8 May, 2023
    "%B-%d-%Y",  # March-15-2024
    "%d %B, %Y",
    "%d %B %Y",
    "%B %d, %Y",
    "%d.%m.%Y, %H:%M:%S",
    "%d.%m.%Y",
    "%Y/%m/%d (%a) %H:%M",
    "%Y/%m/%d",
)
"""Forms that are read besides ISO 8601, in English."""


def rfc3339(text: str) -> str:
    """Return the moment; where no zone is told it is UTC, where no time of day, midnight.

    Raises:
        ValueError: the text has none of the forms.
    """
    moment = _read(text.strip())
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")


def _read(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise ValueError(f"the date {text!r} has no form that is known")
