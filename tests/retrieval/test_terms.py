"""What of a query is looked for as words, what is embedded, and what is written down of a memory."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import words
from app.retrieval.channels import speaker
from app.retrieval.query import names
from app.retrieval.query.terms import MAX_TERMS, terms
from tests.retrieval.pools import candidate
from tests.support.generation import examples


@pytest.mark.parametrize(
    ("query", "looked_for"),
    [
        ("Which house is green?", '"house" "green"'),
        ("what is it that they were?", ""),
        ("", ""),
        ("?! ... \U0001f98a", ""),
        ("Fox fox FOX", '"fox"'),
        ("Anna's dog, Bob\u2019s cat", '"anna" "dog" "bob" "cat"'),
        ("I don't know what we'll do", '"know"'),
        ("who got married, who gets the flat, who is getting old?", '"married" "flat" "old"'),
        ("the O'Brien file", '"brien" "file"'),
        ("error ABC-1234", '"error" "abc 1234"'),
        ("mail bob@example.org", '"mail" "bob example org"'),
        ("version 1.2.3 of v2", '"version" "1 2 3" "v2"'),
        ("snake_case and kebab-case", '"snake case" "kebab" "case"'),
        ("10:30", '"10 30"'),
        ('"red fox" ran', '"red fox" "ran"'),
        ('say "the who"', '"say" "the who"'),
        ("\u201clazy dog\u201d \u300c東京\u300d", '"lazy dog" "東京"'),
        ('"fox', '"fox"'),
        ('""', ""),
        ("東京都", '"東京" "京都"'),
        ("茶", '"茶" *'),
        ("서울은", '"서울" "울은"'),
        ("3月に東京", '"3" "月に" "に東" "東京"'),
        ("東京2024", '"東京" "2024"'),
        ("iPhone手机", '"iphone" "手机"'),
        ("\uff28\uff45\uff4c\uff4c\uff4f \ufb01le", '"hello" "file"'),
        ("والمدرسة", '"مدرس"'),
        ("NEAR(a b) AND NOT c*", '"near" "b" "c"'),
        ("naïve café", '"naïve" "café"'),
        ("C3PO's x", '"c3po" "x"'),
        ("Where does the user live?", '"live"'),
        ("the User's blood type, users\u2019 car, the users", '"blood" "type" "car"'),
        ("drop the users_old table of user 5", '"drop" "users old" "table" "user" "5"'),
        ('"the user table"', '"the user table"'),
    ],
)
def test_the_terms_of_a_query(query: str, looked_for: str) -> None:
    assert " ".join(term.fts for term in terms(query)) == looked_for


def test_of_a_long_query_the_first_terms_are_looked_for() -> None:
    found = terms(" ".join(f"word{n}" for n in range(10_000)))
    assert [term.text for term in found] == [f"word{n}" for n in range(MAX_TERMS)]
    assert len(terms('"' + "word " * 10_000 + '"')) == 1


@settings(deadline=None, max_examples=examples(200))
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.text("a'\"*: \u201c\u300c-東م.@")
)
def test_no_term_holds_what_is_syntax(query: str) -> None:
    for term in terms(query):
        assert '"' not in term.text
        assert term.text.strip() == term.text
        assert term.text
        assert term.fts.count('"') == 2


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("plain ASCII, whatever it says", ""),
        ("Café Müller", ""),
        ("Привет", ""),
        ("東京都", "東京 京都 都"),
        ("茶", "茶"),
        ("a茶b", "a 茶 b"),
        ("서울은", "서울 울은 은"),
        ("الكتاب", "كتاب"),
        ("\uff28\uff49", "Hi"),
        ("e\u0301te\u0301", "été"),
        ("\U0001f98a", ""),
    ],
)
def test_the_segments_of_a_text(text: str, segments: str) -> None:
    assert words.segments(text) == segments


@pytest.mark.parametrize(
    ("word", "stem"),
    [("المكتبة", "مكتب"), ("للمكتبة", "مكتب"), ("وبالمكتبة", "مكتب"), ("كِتَاب", "كتاب"), ("أحمد", "احمد"), ("ال", "ال")],
)
def test_the_stem_of_an_arabic_word(word: str, stem: str) -> None:
    assert words.stem(word) == stem


SCRIPTS = (
    "東京都\u30f4のข้าว서울\u1112\u0627\u0644\u0643\u064e\u062a\u0628\u0629abcABÇé\u0301\u0308हिन्दी"
    "\uff21\uff8a\uff9eß\u017fİςΣЖ\u05d0\u05b9\u200d0²½_-.' \U0001f98a"
)


@settings(deadline=None, max_examples=examples(300))
@given(st.text(SCRIPTS, min_size=1, max_size=12) | st.text(st.characters(min_codepoint=1, max_codepoint=0x24F)))
def test_every_word_of_a_text_finds_the_text(text: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        tokenizer = "porter unicode61 remove_diacritics 2"
        database.execute(f"CREATE VIRTUAL TABLE words USING fts5 (content, segments, tokenize = '{tokenizer}')")
        database.execute("INSERT INTO words VALUES (?, ?)", (text, words.segments(text)))
        for term in terms(text):
            if " " in term.text or not any(character.isalnum() for character in term.text):
                continue  # its words may be found in two places; an accent without a letter
            found = database.execute("SELECT 1 FROM words WHERE words MATCH ?", (term.fts,)).fetchall()
            assert found, (ascii(text), term, words.segments(text))


@pytest.mark.parametrize(
    ("query", "embedded"),
    [
        ("What did Anna say about the garden party?", "What did say about the garden party?"),
        ("When did Bob's sister move to Oslo last year?", "When did sister move to last year?"),
        ("Anna is my best friend, is she not?", "Anna is my best friend, is she not?"),
        ("What did Carla say about the garden party?", None),
        ("What is Anna's name?", "What is Anna's name?"),
        ("Who is Bob?", "Who is Bob?"),
        ("Anna", "Anna"),
        ("Was sagte Anna gestern über den Garten der Nachbarn?", None),
        ("Qué dijo Ana sobre la fiesta del jardín?", None),
        ("WHAT DID ANNA SAY ABOUT THE GARDEN PARTY", "WHAT DID SAY ABOUT THE GARDEN PARTY"),
        ("Anna Bob Oslo Garden Party", None),
        ("東京の天気は Anna", None),
        ("", None),
    ],
)
def test_the_name_of_a_speaker_is_left_out_of_what_is_embedded_of_an_english_sentence(
    query: str, embedded: str | None
) -> None:
    assert names.without_speakers(query, {"anna", "bob", "ana", "oslo"}) == (query if embedded is None else embedded)
    assert names.without_speakers(query, set()) == query


@settings(deadline=None, max_examples=examples(100))
@given(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip))
def test_what_is_embedded_is_never_nothing(query: str) -> None:
    assert names.without_speakers(query, {word.lower() for word in names.WORD.findall(query)}).strip()


@pytest.mark.parametrize(
    ("content", "metadata", "query", "speaks"),
    [
        ("Anna: I like tea", {}, "What does Anna like?", True),
        ("anna: I like tea", {}, "what does ANNA like", True),
        ("Anna: I like tea", {}, "What does Bob like?", False),
        ("Anna Lee: I like tea", {}, "What does Anna like?", True),
        ("Anna Lee: I like tea", {}, "What does Lee like?", False),
        ("I like tea", {"speaker": "Anna"}, "What does Anna like?", True),
        ("Bob: I like tea", {"speaker": "Anna"}, "What does Anna like?", True),
        ("Bob: I like tea", {"speaker": "Anna"}, "What does Bob like?", False),
        ("Bob: I like tea", {"speaker": 5}, "What does Bob like?", True),
        ("Bob: I like tea", {"speaker": ""}, "What does Bob like?", False),
        ("Bob: I like tea", {"deep": {"speaker": "Anna"}}, "What does Bob like?", True),
        ("user: I like tea", {}, "What do I like?", True),
        ("Human: I like tea", {}, "what is my favourite", True),
        ("user: I like tea", {}, "What does Anna like?", False),
        ("assistant: You like tea", {}, "What do I like?", False),
        ("https://anna.example: tea", {}, "anna https", False),
        ("http://anna", {}, "http anna", False),
        ("12:30: anna had tea", {}, "anna at 12", False),
        ("12: tea", {}, "12", False),
        ("The long list of what Anna bought: tea", {}, "the list of Anna", False),
        ("Hello. Anna: tea", {}, "Hello Anna", False),
        ("Anna said tea", {}, "Anna", False),
        (": tea", {}, "tea", False),
        ("Анна: чай", {}, "Что любит Анна?", True),
    ],
)
def test_who_speaks_is_named(content: str, metadata: dict[str, Any], query: str, *, speaks: bool) -> None:
    turn = candidate("1", content, metadata=metadata, session_id="s")
    assert bool(speaker.share(turn.speaker, speaker.named_in(query))) is speaks


def test_what_stands_before_a_colon_in_a_note_is_no_speaker_and_its_metadata_name_one() -> None:
    named = speaker.named_in("Who pays the caterer?")
    assert not speaker.share(candidate("1", "Caterer: paid in March").speaker, named)
    assert speaker.share(candidate("1", "paid in March", metadata={"speaker": "Caterer"}).speaker, named)
