"""Whole messages as queries: what is embedded of them, and what is asked apart."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.retrieval.channels.lexical import Lexical
from app.retrieval.fusion import Fusion
from app.retrieval.pool import Candidate
from app.retrieval.query.parsing import ParsedQuery
from app.retrieval.query.sentences import MAX_NEEDS, QuerySentences
from app.retrieval.query.terms import terms
from tests.retrieval.pools import candidate, pool
from tests.support.generation import examples

MESSAGE = "Hi there! I am in a hurry today. What is the code of the shed? And when does the baker open on Sundays?"
SPACELESS = (
    "\u4f1a\u8b70\u5ba4\u306e\u4e88\u7d04\u306f\u5c71\u7530\u3002\u756a\u53f7\u306f\u4f55\u756a\u3067\u3059\u304b\uff1f"
)
texts = st.text(st.sampled_from("ab .?!\n\u3002\uff1f\"'"), max_size=200) | st.text(max_size=300)


def test_a_message_that_asks_several_things_is_asked_each_of_them_apart() -> None:
    assert QuerySentences(MESSAGE).needs == [
        "What is the code of the shed?",
        "And when does the baker open on Sundays?",
    ]
    assert (
        len(QuerySentences("".join(f"Where is the key of house {number}? " for number in range(9))).needs) == MAX_NEEDS
    )


@pytest.mark.parametrize(
    "query",
    [
        "What is the code of the shed?",
        "I am in a hurry today. What is the code of the shed?",
        "Right? Really? What is the code of the shed?",
        "What is the code of the shed? What is the code of the shed?",
        "",
        "the shed " * 2_000 + "? What is the code? And when does the baker open?",
        'What did Ann say about "Is the shed open? Is it cold?" in March',
    ],
)
def test_a_query_that_asks_one_thing_quotes_or_is_a_pasted_text_is_not_taken_apart(query: str) -> None:
    assert QuerySentences(query).needs == []


@pytest.mark.parametrize(
    ("query", "embedded"),
    [
        (MESSAGE, MESSAGE.removeprefix("Hi there! ")),
        ("Hello. Bye.", "Hello. Bye."),
        ("Hej! Var ligger nyckeln till skjulet?", "Var ligger nyckeln till skjulet?"),
        ("Project Apollo. What is the current status?", "Project Apollo. What is the current status?"),
        ("My sister Ann. When was she born?", "My sister Ann. When was she born?"),
        (SPACELESS, SPACELESS),
    ],
)
def test_a_greeting_is_not_embedded_and_a_sentence_that_says_something_is(query: str, embedded: str) -> None:
    assert QuerySentences(query).without_greetings == embedded


def test_of_a_message_its_questions_name_a_time_of_which_something_is_asked_and_all_of_it_without_any() -> None:
    assert (
        QuerySentences("Happy Monday! The shelves have come. Who fixed them in May?").asking == "Who fixed them in May?"
    )
    for query in ("Hello. Tell me what I did in April 2024.", "What came on Monday"):
        assert QuerySentences(query).asking == query


def test_the_terms_of_a_message_are_told_as_a_whole_and_by_its_sentences() -> None:
    words = [term.text for term in terms(MESSAGE)]
    whole, *apart = [[words[number] for number in part] for part in QuerySentences(MESSAGE).parts(terms(MESSAGE))]
    assert whole == words
    assert ["code", "shed"] in apart
    assert ["baker", "open", "sundays"] in apart
    assert QuerySentences("the code of the shed").parts(terms("the code of the shed")) == []


def test_a_question_of_one_word_of_weight_is_found_behind_a_longer_sentence() -> None:
    asked = "I am leaving for Lisbon tomorrow. Where is my passport?"
    query = ParsedQuery(asked, terms(asked), QuerySentences(asked).parts(terms(asked)))
    numbers = {term.text: number for number, term in enumerate(query.terms)}
    found = pool(
        candidate("drawer", words=(numbers["passport"],)),
        candidate("song", words=(numbers["leaving"], numbers["tomorrow"])),
    )
    assert [each.id for each in Fusion(query, found).ranked] == ["drawer", "song"]


@settings(deadline=None, max_examples=examples(60))
@given(query=st.lists(st.sampled_from(["Fox?", "The red fox ran.", "Hi.", "Who saw a bear?", "\n"])).map(" ".join))
def test_a_note_that_has_a_term_of_a_message_is_found_by_it(query: str) -> None:
    whole = terms(query)
    notes = [candidate(str(number), words=(number,)) for number in range(len(whole))]
    scores = Lexical().score(pool(*notes), ParsedQuery(query, whole, QuerySentences(query).parts(whole)), {})
    assert all(score > 0 for score in scores.values())


def test_a_note_that_has_all_of_one_need_comes_before_one_that_has_a_word_of_each_sentence() -> None:
    query = ParsedQuery(MESSAGE, terms(MESSAGE), QuerySentences(MESSAGE).parts(terms(MESSAGE)))
    numbers = {term.text: number for number, term in enumerate(query.terms)}

    def with_words(id_: str, *words: str) -> Candidate:
        return candidate(id_, words=tuple(numbers[word] for word in words))

    one, some = with_words("one", "code", "shed"), with_words("some", "hurry", "code", "sundays")
    assert [each.id for each in Fusion(query, pool(one, some)).ranked] == ["one", "some"]


@settings(deadline=None, max_examples=examples(30))
@given(query=texts)
def test_whatever_is_asked_something_is_embedded_and_nothing_that_was_not_asked(query: str) -> None:
    left = QuerySentences(query).without_greetings
    assert left.strip() or not query.strip()
    assert all(word in query for word in left.split())
    assert all(need in query for need in QuerySentences(query).needs)
    whole = terms(query)
    assert all(0 <= number < len(whole) for part in QuerySentences(query).parts(whole) for number in part)
