"""The words a time is told in, and the pattern that finds such expressions in a query.

The names of months go to dateutil, which reads the dates; the rest is what no parser of dates reads as a period:
units, seasons, directions, parts.
"""

from dateutil.parser import parserinfo

from app.language.numbers import ONES, by_name
from app.language.numbers import UNITS as UNITS_OF_QUANTITIES

_OTHER_MONTHS = (
    "januar januari janvier enero يناير",
    "februar februari février febrero فبراير",
    "märz mars marzo مارس",
    "avril abril أبريل",
    "mai maj mayo مايو",
    "juni juin junio يونيو",
    "juli juillet julio يوليو",
    "augusti août agosto أغسطس",
    "septembre septiembre سبتمبر",
    "oktober octobre octubre أكتوبر",
    "novembre noviembre نوفمبر",
    "dezember décembre diciembre ديسمبر",
)


class DateWords(parserinfo):
    """The words dateutil reads dates with: its own English ones, German, Swedish, French, Spanish and Arabic."""

    JUMP = [*parserinfo.JUMP, "the", "de", "den", "er"]  # noqa: RUF012  # as dateutil declares it
    MONTHS = [(*known, *others.split()) for known, others in zip(parserinfo.MONTHS, _OTHER_MONTHS, strict=True)]  # noqa: RUF012


MONTHS = {name.lower(): number for number, names in enumerate(DateWords.MONTHS, 1) for name in names}
ENGLISH_MONTHS = frozenset(name.lower() for names in parserinfo.MONTHS for name in names)
CLEAR_MONTHS = frozenset({"january", "february", "july", "september", "october", "november", "december"})
"""Months whose names are no person's and no other word: read without a preposition too."""

WEEKDAYS = by_name(
    {
        0: "monday montag måndag måndags",
        1: "tuesday dienstag tisdag tisdags",
        2: "wednesday mittwoch onsdag onsdags",
        3: "thursday donnerstag torsdag torsdags",
        4: "friday freitag fredag fredags",
        5: "saturday samstag lördag lördags",
        6: "sunday sonntag söndag söndags",
    }
)

WHICH = by_name(
    {
        -1: "last previous letzte letzten letztes letzter vorige vorigen förra",
        0: "this current diese diesen dieses dieser",
        1: "next coming nächste nächsten nächstes nächster nästa",
    }
)

AHEAD = frozenset(name for name, shift in WHICH.items() if shift > 0)

UNITS = by_name(
    {
        "day": "day night morning afternoon evening",
        "week": "week woche veckan vecka",
        "weekend": "weekend wochenende helgen",
        "month": "month monat månaden månad",
        "quarter": "quarter quartal",
        "year": "year jahr året år",
        "decade": "decade",
    }
)

LONG = frozenset(("month", "quarter", "year"))
"""Units that have each day of the week more than once."""

_REPEATED = """
every each daily weekly monthly quarterly yearly annually always whenever twice
jeden jede jeder jedes jedem täglich wöchentlich monatlich jährlich immer montags dienstags mittwochs
donnerstags freitags samstags sonntags
varje varannan varannat alltid dagligen veckovis månadsvis årligen måndagar tisdagar onsdagar torsdagar
fredagar lördagar söndagar
chaque tous toutes cada todos todas ogni elke iedere sempre siempre toujours altijd zawsze każdy każdą każde co
"""
REPEATED = frozenset(_REPEATED.split())
"""Words that say of a day that it comes again."""

SEASONS = by_name(
    {
        3: "spring frühling våren",
        6: "summer sommer sommaren",
        9: "autumn fall herbst hösten",
        12: "winter vintern",
    }
)
"""The first of a season's three months, in the north and as meteorologists count."""

_ARTICLES = "a an one en ett ein eine einer einem einen"
COUNTS = dict.fromkeys(_ARTICLES.split(), 1) | {
    name: number for ones in ONES.values() for number, name in enumerate(ones[1:13], 1)
}
"""The numbers that stand before a unit."""

NUMBERS = {
    **{name: (number, number) for number, name in enumerate(ONES["en"][1:11], 1)},
    **dict.fromkeys(("", "a", "an"), (1, 1)),
    **dict.fromkeys(("couple of", "a couple of"), (2, 3)),
    **dict.fromkeys(("few", "a few"), (2, 6)),
    "several": (3, 7),
}
"""How many a number word means: at least and at most."""

ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}

FIXED = by_name(
    {
        ("day", -2): "day before yesterday|vorgestern|i förrgår|avant-hier|anteayer",
        ("day", -1): "yesterday|gestern|igår|i går|ayer|أمس",
        ("day", 0): "today|tonight|heute|idag|i dag|aujourd'hui|hoy|اليوم",
        ("day", 1): "tomorrow|imorgon|i morgon",
        ("day", 2): "day after tomorrow|übermorgen",
        ("week", -1): "semaine dernière|semana pasada|الأسبوع الماضي",
        ("month", -1): "mois dernier|mes pasado|الشهر الماضي",
        ("year", -1): "année dernière|an dernier|año pasado|العام الماضي|السنة الماضية",
        ("week", 0): "cette semaine|esta semana",
        ("month", 0): "ce mois-ci|este mes",
        ("year", 0): "cette année|este año",
    },
    "|",
)
"""Expressions that mean one unit, so many units from the reference day."""

UNSPACED = by_name(
    {
        ("day", -2): "一昨日 前天",
        ("day", -1): "昨日 昨天",
        ("day", 0): "今日 今天",
        ("day", 1): "明日 明天",
        ("week", -1): "先週 上周 上週 上个星期",
        ("week", 0): "今週 本周 这周",
        ("month", -1): "先月 上个月 上個月",
        ("month", 0): "今月 这个月",
        ("year", -1): "去年 昨年",
        ("year", 0): "今年",
        ("year", 1): "来年 明年",
    }
)
"""The same in Japanese and Chinese, whose words stand without spaces."""

LEADS = by_name(
    {
        "before": "before|prior to|earlier than|vor|före",
        "after": "after|later than|nach|efter",
        "since": "since|seit",
        "until": "until|till|up to|by|bis",
        "to": "to|through|-|\u2013",
        "and": "and|und|och",
        "between": "between|zwischen|mellan",
        "in": "in|during|from|around|im|von|från",
        "near": "on|of|about|for|am|den",
        "en": "i|en|au|في",
    },
    "|",
)
"""What a word before an expression makes of it. After ``near`` a bare month is not yet meant ("gift for April"), after
``en`` only another language's ("I may")."""

_COUNTED = (
    "bits bytes calories characters chars dollars entries euros eur files gb grams items kb kcal kg kilometers km lbs "
    "lines mb meters metres miles millimeters ml mm people persons pieces points pounds px requests rows seconds "
    "minutes hours steps tokens usd users votes words"
)
_NUMBERED = (
    "# build bus chapter code error flight id iso issue line model no no. number nr office order page port pr rfc room "
    "section server ticket version windows"
)
COUNTED = _COUNTED.split()
"""What makes a number before it a count and no year."""
NUMBERED = _NUMBERED.split()
"""What makes a number after it a name and no year."""

_STEPS = {UNITS_OF_QUANTITIES[unit]: unit for unit in ("day", "week", "month", "year")}
FORMS_OF_UNITS = {name: _STEPS[unit] for name, unit in UNITS_OF_QUANTITIES.items() if unit in _STEPS}
"""The units as they stand after a number."""

_OVER = (
    "was were did had took made got wrote built read lost won ran learnt sold went became grew rose fell paid spent "
    "habe hast hat haben habt hatte hatten war waren wurde wurden"
)
PAST = frozenset(_OVER.split())
"""Words of what is over: with one of them "in two weeks" may be how long it took."""
