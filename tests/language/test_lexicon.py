"""The words of languages are data: a language that is added takes nothing from the others."""

from collections import defaultdict

import pytest

from app.language.lexicon import LANGUAGES

TABLES = sorted({key for language in LANGUAGES.values() for key, value in language.items() if isinstance(value, dict)})


@pytest.mark.parametrize("table", [name for name in TABLES if name not in {"questions", "relative_times"}])
def test_an_expression_means_the_same_in_every_language(table: str) -> None:
    separator = "|" if table in {"fixed", "leads", "minutes", "minutes_past"} else None
    meanings = defaultdict[str, set[str]](set)
    for language in LANGUAGES.values():
        for meaning, names in language.get(table, {}).items():
            for name in names.split(separator):
                meanings[name].add(meaning)
    assert {name: different for name, different in meanings.items() if len(different) > 1} == {}


def test_what_one_language_has_of_deeds_and_numbers_every_language_with_numbers_has() -> None:
    full = [language for language in LANGUAGES.values() if "ones" in language]
    common = {
        "denials",
        "plans",
        "guesses",
        "openings",
        "since",
        "small",
        "forms",
        "stemmer",
        "tens",
        "joined",
        "questions",
    }
    assert len(full) > 1
    assert all(common <= language.keys() for language in full)
    assert {len(language["ones"].split()) for language in full} == {20}
    assert {len(language["tens"].split()) for language in full} == {8}
