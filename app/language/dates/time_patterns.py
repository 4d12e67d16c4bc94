"""The patterns of expressions of time, made of the lexicon's words."""

import re
from collections.abc import Iterable

from app.language import lexicon
from app.language.dates import time_words


def any_of(names: Iterable[str]) -> str:
    """Return a pattern for the longest of the names: a tree of their letters, as a plain list takes thrice the time."""
    tails: dict[str, set[str]] = {}
    for name in names:
        tails.setdefault(name[:1], set()).add(name[1:])
    branches = [
        re.escape(head) + (any_of(tails[head]) if tails[head] != {""} else "") for head in sorted(tails, reverse=True)
    ]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


# Every gap and every repetition is bounded, and each alternative begins with another word: no text makes it backtrack.
GAP = r"\s{1,2}"
# A hyphen may stand right before a number only behind a part, as in "mid-2023", or behind a year, as between two dates.
_ALONE = r"(?(part)|(?:(?<=\d{4}-)|(?<![\w$€£¥#@&.,:/\\+*=^~-])))"
_END = r"(?![\w%$€£°]|[-/.,:]\d)"
MONTH = any_of(time_words.MONTHS) + r"(?!\w)\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.)?"
_WHICH, UNIT, NUMBER = (
    any_of(time_words.WHICH),
    any_of(time_words.UNITS) + "s?",
    rf"(?:\d{{1,3}}|{any_of(number for number in time_words.NUMBERS if number)})",
)
_WEEKDAY, _SEASON = any_of(time_words.WEEKDAYS), any_of(time_words.SEASONS)
_YEAR = rf"(?:[12]\d{{3}}{_END}|(?:last|this|next){GAP}year(?!\w))"
# Behind a month the year may go on with a mark: "winter 2023/24", "12 March 2023-15 March 2023".
_OF_YEAR = rf"(?:,?{GAP}(?:(?:of|del?){GAP}(?:the{GAP})?)?(?:[12]\d{{3}}(?![\w%$€£°]|[.,:]\d)|{_YEAR}))"
_ORDINAL_QUARTER = rf"{any_of(time_words.ORDINALS)}{GAP}quarter(?!\w)"
_BEHIND_LAST = any_of(lexicon.words("beside") | lexicon.words("speaking"))
"""Words behind "the week before last": in "the week before last Easter" the week is another."""
KINDS = {
    "iso": rf"{_ALONE}\d{{4}}[-/]\d{{1,2}}(?:[-/]\d{{1,2}})?(?:t[\d:.]{{1,15}}(?:z|[-+]\d\d:\d\d)?)?{_END}",
    "numeric": rf"{_ALONE}\d{{1,2}}(?:/\d{{1,2}}/|\.\d{{1,2}}\.|-\d{{1,2}}-)\d{{4}}{_END}",
    "years": rf"{_ALONE}(?:19|20)\d\d\s?[-\u2013]\s?(?:19|20)\d\d{_END}",
    "days": rf"{_ALONE}{_DAY}\s?(?:[-\u2013]|to|and)\s?{_DAY}{GAP}(?:of{GAP})?{MONTH}{_OF_YEAR}?"
    rf"|{MONTH}{GAP}{_DAY}\s?(?:[-\u2013]|to|and)\s?{_DAY}{_END}{_OF_YEAR}?",
    "day": rf"{_ALONE}{_DAY}{GAP}(?:(?:of|de){GAP})?{MONTH}{_OF_YEAR}?"
    rf"|{MONTH}{GAP}(?:the{GAP})?{_DAY}{_END}{_OF_YEAR}?",
    "month": rf"{MONTH}{_OF_YEAR}?",
    "quarter": rf"q[1-4](?!\w)(?:[-/ ]?{_YEAR}|{_OF_YEAR})?|{_ALONE}(?:19|20)\d\d[- ]?q[1-4](?!\w)"
    rf"|{_ORDINAL_QUARTER}{_OF_YEAR}?|last{GAP}quarter{_OF_YEAR}",
    "rolling": rf"(?:last|past|previous|next|coming){GAP}{NUMBER}{GAP}{UNIT}(?!\w)|past{GAP}{UNIT}(?!\w)",
    "which": rf"{_WHICH}{GAP}(?:{any_of(time_words.UNITS)}|{_WEEKDAY}|{_SEASON}|{any_of(time_words.MONTHS)})(?!\w)",
    "season": rf"{_SEASON}(?!\w){_OF_YEAR}?",
    "before_last": rf"(?:{any_of(time_words.UNITS)}|{_WEEKDAY}){GAP}before{GAP}last"
    rf"(?={GAP}{_BEHIND_LAST}(?!\w)|\s?[^\w\s]|\s?$)",
    "ago": rf"{_ALONE}{NUMBER}{GAP}{UNIT}{GAP}(?:ago(?:{GAP}(?:today|yesterday))?|from{GAP}now)(?!\w)",
    "now": rf"(?(lead){any_of(lexicon.words('now'))}(?!\w)|(?!))",
    "fixed": rf"{any_of(time_words.FIXED)}(?!\w)",
    "weekday": rf"(?<!every\s)(?<!each\s)(?<!black\s)(?<!good\s){_WEEKDAY}(?!\w)",
    "decade": rf"{_ALONE}(?:19|20)\d0s(?!\w)|(?:(?<=the\s)|(?<=the\s'))[2-9]0s(?!\w)",
    "year": rf"{_ALONE}(?:19|20)\d\d{_END}(?!\s(?:{any_of(time_words.COUNTED)})\b)",
}
_SHIFT = rf"(?:{NUMBER}{GAP})?(?:{UNIT}|{_WEEKDAY}){GAP}(?:before|after|of){GAP}(?:the{GAP})?"
_PART = rf"(?:early|mid|late)[- ](?:in{GAP})?|(?:beginning|start|middle|end){GAP}of{GAP}"
_PART_UNIT = any_of(name for name, unit in time_words.UNITS.items() if unit != "quarter") + "s?"
_PART += rf"|(?:{any_of(time_words.ORDINALS)}|last){GAP}"
_PART += rf"(?:half|{_WEEKDAY}|(?:{NUMBER}{GAP})?{_PART_UNIT}){GAP}of{GAP}"
_LEAD = rf"(?:{any_of(lead for lead in time_words.LEADS if lead[0].isalpha())}{GAP}|[-\u2013]\s?)"
SPAN = (
    rf"(?P<unspaced>{any_of(time_words.UNSPACED)})"
    r"|(?<!\d)(?P<cjk>\d{4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月(?:\d{1,2}[日号])?)"
    rf"|(?:(?<!\w)|(?=[-\u2013]))(?P<lead>{_LEAD})?(?P<the>(?:the|that|der|dem){GAP}'?)?(?P<shift>{_SHIFT})?"
    rf"(?P<part>(?:{_PART})(?:the{GAP})?)?"
    f"(?:{'|'.join(f'(?P<{kind}>{pattern})' for kind, pattern in KINDS.items())})"
    rf"(?P<onwards>{GAP}onwards?(?!\w))?"
)
"""The pattern of an expression of time."""
COUNT = rf"(?:\d{{1,3}}|{any_of(time_words.COUNTS)}) (?:{any_of(time_words.FORMS_OF_UNITS)})"
COUNTED = re.compile(
    rf"(?:{NUMBER}|{any_of(time_words.COUNTS)}){GAP}(?:{any_of(time_words.FORMS_OF_UNITS)}|{UNIT})(?!\w)"
)
OF_COUNT = re.compile(
    rf"(?<!\w)(?:(?:\d{{1,3}}|{any_of(time_words.COUNTS)}){GAP}{any_of(time_words.BETWEEN_NUMBERS)}"
    rf"|{any_of(time_words.BEGINNINGS)}(?:{GAP}{any_of(time_words.BETWEEN_NUMBERS)})?){GAP}$"
)
"""The words before a count that belong to it: "twenty two days ago", "half a year ago", "one or two weeks ago"."""
MORE_OF_COUNT = re.compile(
    rf"{GAP}{any_of(time_words.BETWEEN_NUMBERS)}{GAP}(?:\d{{1,3}}|{any_of(time_words.COUNTS)})(?!\w)"
)
"""The words behind a count that belong to it: "in a week or two", "in a year and a half"."""
