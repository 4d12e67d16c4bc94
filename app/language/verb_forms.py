"""Brings the forms of a word to one: "bought" and "buy", "gekauft" and "kaufte", "sålde" and "sålt".

Verbs that change inside stand in a table, in English, Swedish and German; of other words the endings are left out.
"""

from typing import Final

_IRREGULAR = """
become became|begin began begun|bite bit bitten|break broke broken|bring brought|build built|buy bought purchase|
catch caught|choose chose chosen|come came|cut|draw drew drawn|drive drove driven|eat ate eaten|fail failure|
fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown flight|forget forgot forgotten|freeze froze|
give gave given gift|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hit|hold held|hurt|keep kept|know
knew known|lead led|learn learnt|leave left|lend lent|lose lost loss|marry married marriage wedding|meet met
meeting|pay paid payment|quit|read|ride rode ridden|ring rang rung|rise rose risen|run ran|see saw seen|sell sold sale|
send sent|set|shake shook|shoot shot|shut|sing sang sung|sink sank sunk|sleep slept|speak spoke spoken|spend
spent|steal stole stolen|swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw
thrown|wake woke woken|wear wore worn|win won|write wrote written|bear born birth|graduate graduation|succeed successful
success|deliver delivery|arrive arrival|install installation|resign resignation|
gehen ging gegangen|kommen kam gekommen|ziehen zog gezogen|umziehen umzog umgezogen|finden fand gefunden|verlieren
verlor verloren|schreiben schrieb geschrieben|beginnen begann begonnen|treffen traf getroffen|sterben starb
gestorben|geben gab gegeben|nehmen nahm genommen|laufen lief gelaufen|fahren fuhr gefahren|fliegen flog geflogen|
sprechen sprach gesprochen|brechen brach gebrochen|gewinnen gewann gewonnen|schließen schloss geschlossen|
bringen brachte gebracht|essen aß gegessen|sehen sah gesehen|verlassen verließ|bekommen bekam|unterschreiben
unterschrieb|geboren geburt|anfangen anfing angefangen fing|
köpa köpte köpt|sälja sålde sålt såld|springa sprang sprungit|gå gick gått|få fick fått|komma kom kommit|skriva skrev
skrivit|börja började|bli blev blivit|flyga flög flugit|ge gav gett|ta tog tagit|träffa träffade|vinna vann vunnit|
förlora förlorade|dö dog dött|föda född föddes|hitta hittade|flytta flyttade|lämna lämnade|betala betalade betald
"""


def _table(lines: str) -> dict[str, str]:
    groups = [group.split() for group in lines.split("|")]
    return {form: forms[0] for forms in groups for form in forms}


_FORMS: Final = _table(_IRREGULAR)
_ENDINGS: Final = (
    *(
        "ation",
        "ements",
        "ement",
        "ments",
        "ment",
        "ings",
        "ing",
        "ions",
        "ion",
        "ades",
        "ade",
        "ad",
        "ats",
        "at",
        "ied",
    ),
    *("ies", "ed", "es", "er", "en", "et", "te", "ar", "or", "s", "e", "a", "y"),
)
_LEAST: Final = 3
_ALIKE: Final = 5
"""Letters that are enough of a word where a longer one begins with it."""


def stem(word: str) -> str:
    """Return what forms of a word, in small letters, have in common."""
    if word not in _FORMS and word[:2] == "ge" and word[-1:] in {"t", "n"} and len(word) > _ALIKE + 1:
        word = word[2:].removesuffix("t")
    before = ""
    while word not in _FORMS and word != before:
        before, word = word, _shorter(word)
    return _FORMS.get(word, word)


def _shorter(word: str) -> str:
    """Return a word without its longest ending, and without the second of two letters at the end."""
    fits = (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= _LEAST)
    word = word[: len(word) - len(next(fits, ""))]
    is_double = word[-1:] == word[-2:-1] and len(word) > _LEAST and word not in _FORMS
    return word[:-1] if is_double else word


def lacking(stems: frozenset[str], among: frozenset[str]) -> frozenset[str]:
    """Return the stems of words of which no form is among others."""
    return frozenset(one for one in stems - among if not any(_is_longer(one, other) for other in among))


def _is_longer(one: str, other: str) -> bool:
    """Tell whether one stem begins with the other one."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _ALIKE and long.startswith(short)
