"""The language of a text, by its small words."""

import pytest

from app.language.telling import are_apart, language_of, seems_apart

TEXTS = {
    "en": ["Where does the invoice go?", "The cat is afraid of the vacuum cleaner."],
    "de": ["Wohin geht die Rechnung für den Kunden?", "Die Katze hat Angst vor dem Staubsauger."],
    "sv": ["Vad är Ann allergisk mot?", "Katten är rädd för dammsugaren och vill inte gå ut."],
    "fr": ["Quel âge a le chat ?", "Le chat a peur de l'aspirateur, qui est dans la cave."],
    "es": ["¿Dónde está la llave para los que cuidan las flores?", "El gato se llama Muffin y no come en la cocina."],
    "it": ["Quando è la riunione della prossima settimana?"],
    "nl": ["Wanneer is de volgende vergadering van het team?"],
    "pl": ["Gdzie jest klucz do piwnicy i kto go ma?"],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, texts in TEXTS.items() for text in texts])
def test_a_sentence_tells_its_language(code: str, text: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize("text", ["", "INV-2047", "printer password", "Malmö", "東京は日本の首都です", "?!"])
def test_what_has_too_few_small_words_tells_none(text: str) -> None:
    assert language_of(text) is None


def test_only_two_languages_that_are_told_are_surely_two() -> None:
    assert are_apart("sv", "en")
    assert not any(are_apart(*pair) for pair in (("sv", "sv"), ("sv", None), (None, "en"), (None, None)))


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Justera hastigheten f\u00f6r musen", "en"),
        ("Fenstergr\u00f6\u00dfe", "en"),
        ("changement de clavier", "en"),
        ("Drucker mit Kabel", "sv"),
        ("printer for Ann", "de"),
    ],
)
def test_a_short_question_seems_to_be_in_another_language_by_one_small_word_or_letter(
    question: str, language: str
) -> None:
    assert language_of(question) is None
    assert seems_apart(question, language)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Justera hastigheten f\u00f6r musen", "sv"),
        ("Malm\u00f6", "sv"),
        ("printer password", "en"),
        ("the caf\u00e9", "en"),
        ("Drucker mit Kabel", None),
    ],
)
def test_a_short_question_without_such_a_sign_or_with_a_word_of_the_language_does_not_seem_apart(
    question: str, language: str | None
) -> None:
    assert not seems_apart(question, language)
