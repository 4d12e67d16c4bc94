"""A statement about somebody else's thing corrects nothing of mine, in three languages."""

import pytest

from tests.retrieval.test_wording import corrects


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Var ligger mitt pass?", "Mitt pass ligger i byrån.", "Karins pass ligger numera i kassaskåpet."),
        ("Vilken färg har min bil?", "Min bil är röd.", "Grannens bil är numera blå."),
        ("Vilken färg har min bil?", "Min bil är röd.", "Min systers bil är numera blå."),
        ("Vad heter min chef?", "Min chef heter Åsa.", "Pers chef heter numera Olof."),
        ("Vem är min läkare?", "Min läkare är Eva.", "Jonas läkare är numera Sven."),
        ("Vem är min tandläkare?", "Min tandläkare är Lena.", "Annas tandläkare är numera Bo."),
        ("Wo liegt mein Pass?", "Mein Pass liegt in der Kommode.", "Karins Pass liegt jetzt im Tresor."),
        ("Wo liegt mein Pass?", "Mein Pass liegt in der Kommode.", "Karins neuer Pass liegt jetzt im Tresor."),
        ("Wo liegt mein Pass?", "Mein Pass liegt in der Kommode.", "Hans\u2019 Pass liegt jetzt im Tresor."),
        (
            "In welchem Stock ist mein Büro?",
            "Mein Büro ist im dritten Stock.",
            "Marias Büro ist jetzt im fünften Stock.",
        ),
        ("Wie heißt mein Chef?", "Mein Chef heißt Karl.", "Lisas Chef heißt jetzt Uwe."),
        ("Welchen Port hat mein Rechner?", "Mein Port ist 80.", "Des Servers Port ist jetzt 8080."),
        ("Who is my doctor?", "My doctor is Ann.", "Sara's doctor is Ben now."),
        ("Where is our office?", "Our office is in Lund.", "The Malmö team has moved its office to Ystad."),
    ],
)
def test_a_change_of_somebody_elses_thing_corrects_nothing_of_mine(question: str, old: str, new: str) -> None:
    assert not corrects(question, old, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Vilken färg har Karins bil?", "Karins bil är röd.", "Min bil är numera blå."),
        ("Wie heißt Lisas Chef?", "Lisas Chef heißt Karl.", "Mein Chef heißt jetzt Uwe."),
        ("Who is Sara's doctor?", "Sara's doctor is Ann.", "My doctor is Ben now."),
        ("Who is Sara's doctor?", "Sara's doctor is Ann.", "Tom's doctor is Ben now."),
        ("Who is Sara's doctor?", "My doctor is Ann.", "Sara's doctor is Ben now."),
        ("Vilken färg har Karins bil?", "Min bil är röd.", "Karins bil är numera blå."),
        ("Wie heißt Lisas Chef?", "Mein Chef heißt Karl.", "Lisas Chef heißt jetzt Uwe."),
    ],
)
def test_a_change_of_one_owners_thing_corrects_nothing_of_another_owners(question: str, old: str, new: str) -> None:
    assert not corrects(question, old, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Who is my doctor?", "My doctor is Ann.", "Sara's doctor is Ben."),
        ("Who is my landlord?", "My landlord is Ann.", "Tom's landlord is Ben."),
        ("What is my dose?", "My dose is 5 mg.", "Adam's dose is 10 mg."),
        ("What port does our app use?", "Our app uses port 80.", "Ben's app uses port 8080."),
        ("When is my review?", "My review is on Monday.", "Pavel's review is on Friday."),
    ],
)
def test_a_value_of_somebody_elses_thing_replaces_none_of_mine(question: str, old: str, new: str) -> None:
    assert not corrects(question, old, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Var ligger mitt pass?", "Mitt pass ligger i byrån.", "Passet ligger numera i kassaskåpet."),
        ("Vilken färg har Karins bil?", "Karins bil är röd.", "Karins bil är numera blå."),
        ("Vem är min läkare?", "Min läkare är Eva.", "Min nya läkare är numera Sven."),
        ("Vem är vår chef?", "Vår chef är Åsa.", "Teamets chef är numera Olof."),
        ("När är vårt möte?", "Vårt möte är på måndag.", "Veckans möte har flyttats till tisdag."),
        ("Var ligger vårt kontor?", "Vårt kontor ligger i Lund.", "Vårt företags kontor ligger numera i Ystad."),
        ("Wo liegt mein Pass?", "Mein Pass liegt in der Kommode.", "Der Pass liegt jetzt im Tresor."),
        ("Wie heißt Lisas Chef?", "Lisas Chef heißt Karl.", "Lisas Chef heißt jetzt Uwe."),
        ("Wo ist unser Büro?", "Unser Büro ist in Lund.", "Unsere Firma hat ihr Büro jetzt nach Ystad verlegt."),
        ("Wo ist unser Büro?", "Unser Büro ist in Lund.", "Großes Büro, und es ist jetzt in Ystad."),
        ("Who is my doctor?", "My doctor is Ann.", "The user's doctor is now Ben."),
        ("Where is our office?", "Our office is in Lund.", "Our company has moved its office to Ystad."),
        ("When is our standup?", "Our standup is at nine.", "Today's standup was moved to ten for good."),
        ("Which database do we use?", "Our database is MySQL.", "Our service's database is Postgres now."),
        ("Where does my bus leave?", "My bus leaves from gate 3.", "This bus leaves from gate 5 now."),
    ],
)
def test_a_change_of_my_own_thing_is_found_whether_or_not_it_says_whose_it_is(
    question: str, old: str, new: str
) -> None:
    assert corrects(question, old, new)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("Who is Sara's doctor?", "Sara's doctor is Ann.", "Sara's doctor is Ben."),
        ("What is Adam's dose?", "Adam's dose is 5 mg.", "Adam's dose is 10 mg."),
        ("Which port does the server have?", "The server's port is 80.", "The server's port is 8080."),
        ("What is our deadline for Falcon?", "Our deadline for Falcon is 3 May.", "Falcon's deadline is 9 June."),
        ("How many days is my trip?", "My trip is 5 days.", "My trip is 7 days."),
    ],
)
def test_a_value_of_the_same_owners_thing_replaces_the_older_one(question: str, old: str, new: str) -> None:
    assert corrects(question, old, new)
