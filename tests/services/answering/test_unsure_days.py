"""No day, length or count is told of what did not happen, or of a day that a word beside it leaves open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.services.answering.made import entry, lines

TOLD_ON = "2026-05-12"
QUERIES = ("When was it?", "When was it last?", "How long ago was it?", "How often was it?")


def is_computed(query: str, *contents: str, at: str = "2026-05-20", told_on: str = TOLD_ON) -> bool:
    """Tell whether the first line of an answer is computed, where all contents answer and are events."""
    told = [entry(content, told_on, id_=str(number)) for number, content in enumerate(contents)]
    found = lines(query, *told, at=at, relevance={each.id: 0.9 for each in told}, events=contents)
    return not found[0].startswith(told_on)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "content",
    [
        "I did not go to the gym yesterday.",
        "I didn't call Mum on 5 May 2026.",
        "I didn\u2019t call Mum on 5 May 2026.",
        "I forgot to call Mum on 6 May 2026.",
        "I never ran on 6 May 2026.",
        "I no longer lived there on 6 May 2026.",
        "Ich war am 4. Mai 2026 nicht beim Arzt.",
        "Der Termin wurde am 4. Mai 2026 abgesagt.",
        "Ich hatte gestern keine Zeit für den Lauf.",
        "Ich habe den Lauf gestern vergessen.",
        "Jag var inte hos tandläkaren igår.",
        "Jag sprang aldrig igår.",
        "Mötet igår blev inställt.",
        "Jag glömde ringa mamma igår.",
        "The release on 3 May 2026 was cancelled.",
        "The party on 3 May 2026 was called off.",
        "I did not buy a kayak.",
    ],
)
def test_of_what_did_not_happen_nothing_is_computed(query: str, content: str) -> None:
    assert not is_computed(query, content, "I ran on 1 May 2026.")
    assert not is_computed(query, content)


@pytest.mark.parametrize(
    "content",
    [
        "Jag flyttade efter den 3 maj 2026.",
        "Jag flyttade före den 3 maj 2026.",
        "Jag flyttade innan den 3 maj 2026.",
        "Jag flyttade senast den 3 maj 2026.",
        "Jag flyttade omkring den 3 maj 2026.",
        "Jag bodde där till den 3 maj 2026.",
        "Jag bodde där fram till den 3 maj 2026.",
        "Jag flyttade dagen efter den 3 maj 2026.",
        "Jag flyttade tre dagar efter den 3 maj 2026.",
        "Jag flyttade ungefär för två veckor sedan.",
        "Ich wohnte dort bis zum 3. Mai 2026.",
        "Ich zog etwa am 3. Mai 2026 um.",
        "Ich zog ungefähr am 3. Mai 2026 um.",
        "Ich zog spätestens am 3. Mai 2026 um.",
        "Ich wohnte dort ab dem 3. Mai 2026.",
        "Ich zog um den 3. Mai 2026 um.",
        "Ich zog fast vor zwei Wochen um.",
        "Ich wohnte dort bis vor zwei Wochen.",
        "I moved roughly on 3 May 2026.",
        "I moved approximately on 3 May 2026.",
        "I moved on about the 3rd of May 2026.",
        "I moved on or before 3 May 2026.",
        "I moved on 3 May 2026 or so.",
        "I moved on 3 May 2026 at the latest.",
        "I moved yesterday, I think.",
        "I moved more than two weeks ago.",
        "I moved at least two weeks ago.",
        "I moved almost a month ago.",
        "I moved over a year ago.",
    ],
)
def test_a_word_that_opens_a_day_or_makes_it_a_guess_leaves_it_unsaid(content: str) -> None:
    for query in (*QUERIES, "How long have I been here?", "Since when am I here?"):
        assert not is_computed(query, content)


@pytest.mark.parametrize(
    "content",
    [
        "I moved yesterday after work to Oslo.",
        "Jag flyttade den 3 maj 2026.",
        "Ich zog am 3. Mai 2026 um 10 Uhr um.",
        "Ich zog vor zwei Wochen nach Oslo.",
        "Jag flyttade för två veckor sedan till Oslo.",
        "I moved two weeks ago.",
    ],
)
def test_other_small_words_leave_a_day_sure(content: str) -> None:
    assert is_computed("When was it?", content)


@pytest.mark.parametrize(
    "content",
    [
        "Anna has been in Oslo for three weeks, she texted me yesterday.",
        "As of yesterday Anna has worked at Acme for 4 years.",
        "Anna firade igår fem år på Acme.",
        "Anna ist gestern seit 4 Jahren bei Acme gewesen.",
    ],
)
@pytest.mark.parametrize(
    "query", ["How long has Anna been there?", "Seit wann ist Anna dort?", "Hur länge har Anna varit där?"]
)
def test_what_lasts_did_not_begin_on_the_day_beside_its_length(query: str, content: str) -> None:
    assert not is_computed(query, content)


def test_since_tells_the_beginning_beside_a_length_too() -> None:
    assert is_computed("How long has Anna been there?", "Anna is there since 3 May 2021, for 5 years now.")
    assert is_computed("How long has Anna been there?", "Anna came two weeks ago.")


@pytest.mark.parametrize(
    "query",
    [
        "When is the next team meeting?",
        "When will Anna move to Oslo?",
        "When does the shop open?",
        "När är nästa möte?",
    ],
)
def test_what_is_to_come_is_told_of_no_day_that_is_over(query: str) -> None:
    assert not is_computed(query, "It was on 3 May 2026.")
    assert not is_computed(query, "It was yesterday.")
    assert is_computed(query, "It is on 3 June 2026.")


@pytest.mark.parametrize("query", ["When is Mum's birthday?", "How long ago was Mum born?", "When was Mum born?"])
def test_of_a_date_without_its_year_no_year_is_told(query: str) -> None:
    assert not is_computed(query, "Mum's birthday is 3 May.")


DENIALS = ("not", "never", "n't", "didn't", "no longer", "nicht", "keine", "nie", "inte", "aldrig", "inga", "abgesagt")
SENTENCES = (
    "I ran on 3 May 2026 in the park.",
    "Ich lief gestern im Park.",
    "Jag sprang för två dagar sedan i parken.",
)


@given(st.sampled_from(SENTENCES), st.sampled_from(DENIALS), st.integers(0, 8), st.sampled_from(QUERIES))
def test_a_negation_anywhere_in_a_sentence_that_computes_silences_it(
    sentence: str, denial: str, place: int, query: str
) -> None:
    *words, last = sentence.rstrip(".").split()
    denied = [*words, last]
    denied.insert(place, denial)
    assert is_computed("When was it?", sentence)
    assert not is_computed(query, f"{' '.join(denied)}.")
