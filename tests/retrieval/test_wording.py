"""A correction in free wording goes before what it corrects, and nothing else does."""

import pytest

from app.retrieval.channels.channel import ParsedQuery
from app.retrieval.newer.likeness import Words, alike
from app.retrieval.newer.pairs import newer_values
from tests.retrieval.pools import candidate


def corrects(question: str, old: str, new: str, **fields: object) -> bool:
    older = candidate("old", old, happened_at=1)
    newer = candidate("new", new, **({"happened_at": 2} | fields))
    return newer_values(ParsedQuery(question), [older, newer], {"old": 1.0, "new": 1.0}) == {"old": ["new"]}


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Who cuts my hedge?", "Aldo cuts the hedge.", "Aldo has retired, so the hedge is cut by Mirko these days."),
        ("Which tea do I drink?", "I drink Assam tea.", "I have gone off Assam. It is green tea from now on."),
        (
            "Where is the ladder?",
            "The ladder is in the Shed.",
            "Moved the ladder out of the Shed, it hangs in the cellar.",
        ),
        ("When is the choir?", "Choir is on Monday.", "Choir -> Thursday"),
        ("Which theme does the wiki have?", "Theme of the wiki: Solar.", "Wiki theme: Lunar (was Solar)."),
        ("Do we gift wrap?", "We offer gift wrapping.", "We don't offer gift wrapping any more."),
        ("Vilken färg har staketet?", "Staketet är rött.", "Staketet är ommålat, numera är det grönt."),
        ("Vem klipper häcken?", "Häcken klipps av Aldo.", "Aldo har slutat. Mirko klipper häcken nu."),
        ("Welche Farbe hat der Zaun?", "Der Zaun ist rot.", "Den Zaun haben wir gestrichen, er ist jetzt grün."),
        ("Sind wir im Chor?", "Wir sind im Chor.", "Im Chor sind wir nicht mehr."),
    ],
)
def test_a_change_that_is_told_in_any_words_corrects_what_was_said_before(question: str, old: str, new: str) -> None:
    assert corrects(question, old, new)
    assert not corrects(question, old, new, happened_at=0)
    assert not corrects(question, old, new, metadata={"speaker": "Ann"})


QUESTION, OLD, NEW = "Which tea do I drink?", "I drink Assam tea.", "I drink Sencha tea now."


@pytest.mark.parametrize(
    "new",
    [
        "I also drink Sencha tea now.",
        "I might drink Sencha tea from now on.",
        "My sister says that I drink Sencha tea now.",
        "I have not switched to Sencha tea.",
        "Do I drink Sencha tea now?",
        "If Assam tea gets pricier I'm switching to Sencha tea now.",
        "Before that I drank Sencha tea again and again.",
        "My brother has switched to Sencha tea.",
        "I still drink Assam tea, as ever.",
        "I drink Sencha tea now. Nothing is decided yet, no idea.",
        "I bought a kettle for tea.",
        "The printer is in the cellar now.",
    ],
)
def test_what_stands_beside_or_is_not_settled_or_of_somebody_else_corrects_nothing(new: str) -> None:
    assert corrects(QUESTION, OLD, NEW)
    assert not corrects(QUESTION, OLD, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Which editor does our team use?", "Our team uses Zed.", "The Munich team switched to Helix."),
        ("What does the small pot cost?", "The small pot is cheap.", "The large pot is expensive now."),
        (
            "When is my review with Ann?",
            "My review with Ann is on Monday.",
            "Pavel's review with Ann was moved to Friday.",
        ),
        (
            "Wann ist Projekt Falke fertig?",
            "Projekt Falke ist im Juli fertig.",
            "Projekt Adler ist jetzt im Mai fertig.",
        ),
        ("Which code has the back gate?", "The front gate has code Blue.", "The back gate has code Red now."),
    ],
)
def test_a_change_of_another_thing_of_this_kind_corrects_nothing(question: str, old: str, new: str) -> None:
    assert not corrects(question, old, new)


@pytest.mark.parametrize("question", ["Which tea did I drink?", "Which teas have I tasted?", "Why do I drink tea?"])
def test_a_question_about_what_was_changes_no_order(question: str) -> None:
    assert not corrects(question, OLD, NEW)


def test_a_long_text_corrects_only_with_all_words_of_the_query() -> None:
    beside = " It rained all day, and we sat in the kitchen with the dog and talked about the summer." * 3
    assert corrects(QUESTION, OLD, NEW + beside)
    assert not corrects("Which tea do I drink at breakfast?", "I drink Assam tea at breakfast.", NEW + beside)


def test_of_three_statements_the_last_corrects_the_one_that_corrects_the_first() -> None:
    said = ["Choir is on Monday.", "Choir was moved to Tuesday.", "Choir is on Monday again."]
    told = [candidate(str(n), text, happened_at=n) for n, text in enumerate(said)]
    changed = newer_values(ParsedQuery("When is the choir?"), told, {one.id: 1.0 for one in told})
    assert changed == {"0": ["1"], "1": ["2"]}


def test_a_label_before_a_colon_is_no_speaker() -> None:
    assert corrects("What is the deploy window?", "Deploy Window: Tuesday.", "The deploy window was moved to Friday.")
    assert not corrects(QUESTION, f"Ann: {OLD}", f"Ben: {NEW}")


@pytest.mark.parametrize(
    ("one", "other"),
    [("levaxin", "levaxinet"), ("hair", "hairdresser"), ("filmabend", "filmabende"), ("living", "lives")],
)
def test_forms_of_a_word_and_what_it_is_written_on_to_are_alike(one: str, other: str) -> None:
    assert alike(one, other)
    assert other in Words([one])


@pytest.mark.parametrize(
    ("one", "other"), [("contact", "contract"), ("cat", "car"), ("check-out", "check-up"), ("a", "b")]
)
def test_words_that_only_begin_alike_are_others(one: str, other: str) -> None:
    assert not alike(one, other)
    assert other not in Words([one])
