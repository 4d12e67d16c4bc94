"""What a sentence states, whose fact it is, and when the rules say nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.claim import AS_SAID
from app.statements.rules import keys_asked, statements
from tests.statements.replay import CASES, cases

FACTS = {
    "I live in Rome, near the market.": ("user/lives_in", "rome"),
    "User lives in Rome.": ("user/lives_in", "rome"),
    "I moved to Oslo last week.": ("user/lives_in", "oslo"),
    "My sister lives in Oslo.": ("sister/lives_in", "oslo"),
    "Maria works at Stellan & Co.": ("maria/employer", "stellan & co"),
    "We use npm here.": ("we/package_manager", "npm"),
    "User prefers pnpm over npm": ("we/package_manager", "pnpm"),
    "Use pnpm, not npm, from now on.": ("we/package_manager", "pnpm"),
    "The project uses pnpm.": ("we/package_manager", "pnpm"),
    "We moved from Jenkins to GitHub Actions.": ("we/ci", "github actions"),
    "Staging runs on PostgreSQL.": ("staging/database", "postgres"),
    "In the dashboard project, use pnpm.": ("dashboard/package_manager", "pnpm"),
    "My editor is Vim.": ("we/editor", "vim"),
    "Our rent is 1,150 a month.": ("user/rent", "1150"),
    "The deadline for the Marlow brochure is May 8.": ("brochure marlow/deadline", "05-08"),
    "The Marlow brochure deadline has been moved to 9 May.": ("brochure marlow/deadline", "05-09"),
    "I have a new phone number, 555-0186.": ("user/phone", "5550186"),
    "Min favoriträtt är köttbullar.": ("user/favourite_rätt", "köttbullar"),
    "I got married to Leah last Saturday.": ("user/partner", "leah"),
    "Rajiv Menon is our CEO.": ("we/ceo", "rajiv menon"),
    "Standup got pushed to 10:00.": ("standup/time", "10:00"),
    "We renamed the default branch in atlas-api to main.": ("atlas-api/branch", "main"),
    "User's favourite tea is now rooibos.": ("user/favourite_tea", "rooibos"),
    "Jag bor i Göteborg.": ("user/lives_in", "göteborg"),
    "Vi kör MySQL.": ("we/database", "mysql"),
    "Oskar Falk är säljchef.": ("user/sales_head", "oskar falk"),
    "Ich wohne in Leipzig.": ("user/lives_in", "leipzig"),
    "Ab sofort Bun statt Yarn.": ("we/package_manager", "bun"),
    "I work at a bakery on Harbour Street.": ("user/employer", "bakery"),
    "My savings account is with Harbor Bank.": ("user/savings_bank", "harbor bank"),
    "I changed dentists, Dr. Mistry looks after my teeth now.": ("user/dentist", "mistry"),
    "I have a new boss, she's called Kim Lee.": ("user/boss", "kim lee"),
    "We renamed the project to Kingfisher.": ("project/name", "kingfisher"),
    "I get up at half past seven.": ("get/time", AS_SAID),
    "Deployments happen on Tuesdays.": ("deployment/day", AS_SAID),
    "I write code in Atom.": ("we/editor", "atom"),
    "We traded the Civic in for a Toyota Yaris.": ("user/car", "toyota"),
    "I'm single.": ("user/partner", "none"),
    "I eat everything, no restrictions.": ("user/diet", "omnivore"),
    "My phone is a Pixel 6.": ("user/mobile_phone", "pixel 6"),
    "I'm a junior developer.": ("user/job_title", "junior developer"),
    "Jag har fått en ny chef som heter Mattias.": ("user/boss", "mattias"),
    "Seit Juni arbeite ich bei einem Verlag.": ("user/employer", "verlag"),
    "Das Messebudget wurde auf 26.000 Euro aufgestockt.": ("mess/budget", "26000"),
}

UNSURE = {
    "hearsay": [
        "My neighbour says I live in Oslo.",
        "Grannen säger att jag bor i Oslo.",
        "Laut Tim wohne ich in Oslo.",
    ],
    "plan": [
        "I might move to Oslo next year.",
        "Vi funderar på att byta till pnpm.",
        "Wir wollen auf Postgres umsteigen.",
    ],
    "question": ["Do I live in Rome?", "Bor jag i Rom?", "Wohne ich in Rom?", "Should we use pnpm?"],
    "negation": ["I don't live in Rome.", "Jag bor inte i Rom.", "Ich wohne nicht in Rom.", "Don't use yarn here."],
    "condition": [
        "If I live in Oslo I ski.",
        "Om jag bor i Oslo åker jag skidor.",
        "Wenn ich in Oslo wohne, fahre ich Ski.",
    ],
    "past": ["I used to live in Oslo.", "Tidigare var min chef Eva Berg.", "Früher war mein Chef Jan Berg."],
    "one of several": [
        "I also use Emacs.",
        "Jag använder också Emacs.",
        "Ich nutze auch Emacs.",
        "Our second CEO is Ann Lee.",
    ],
    "of somebody unnamed": ["He lives in Rome.", "Her phone number is 555-0142.", "They use pnpm."],
    "no value": [
        "My doctor is great.",
        "Our CI is broken.",
        "My job is boring.",
        "My laptop is slow.",
        "We moved to the cloud.",
        "My doctor is on vacation.",
        "My manager is Ann's friend.",
        "Our database is huge.",
        "Call me tomorrow.",
        "I joined the call.",
        "I work for a living.",
        "We work at night.",
        "I started at 9am.",
    ],
    "of other people": [
        "My friend Tom quit Google and joined Meta.",
        "Anna and Tom broke up.",
        "Just yesterday I joined a nearby church.",
        "I joined a fantasy literature forum last week.",
        "Jag och min brors nya chef, Jens Palm.",
    ],
    "an attempt": [
        "I'm trying to implement the route with Flask.",
        "I want to create a project with Vue.",
    ],
    "an everyday word": [
        "Keep that positive outlook!",
        "I ate fish with my brother.",
        "We render the page on the server side.",
        "Keep it up with German!",
        "I broke up the fight.",
        "I report to the police.",
        "We have a Tesla charger at work.",
    ],
    "no choice": [
        "We use Slack and Teams.",
        "We moved the cursor.",
        "I joined a gym.",
        "The npm registry is down.",
        "Fixed the Jenkins job.",
        "I read about Rust.",
        "Write tests in English.",
    ],
}


def keyed(text: str, speaker: str | None = None) -> list[tuple[str | None, str | None]]:
    return [(each.key, each.value) for each in statements(text, speaker) if each.key]


@pytest.mark.parametrize("text", FACTS)
def test_a_plain_statement_sets_its_fact(text: str) -> None:
    assert keyed(text) == [FACTS[text]]


@pytest.mark.parametrize(("reason", "text"), [(reason, text) for reason, texts in UNSURE.items() for text in texts])
def test_unsure_means_no_key(reason: str, text: str) -> None:
    assert keyed(text) == [], reason


def test_a_question_asks_for_the_key_that_the_statement_set() -> None:
    key, value = keyed("User prefers pnpm over npm")[0]
    assert value == "pnpm"
    assert key in keys_asked("What package manager does the user prefer?")
    assert key in keys_asked("Which package manager do we use?")


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("Where do I live?", "user/lives_in"),
        ("Where does the user live?", "user/lives_in"),
        ("Which database does staging run on?", "staging/database"),
        ("When is the board meeting?", "board meeting/day"),
        ("What time is standup?", "standup/time"),
        ("Var bor jag?", "user/lives_in"),
        ("Wo wohnt der Nutzer?", "user/lives_in"),
        ("Who is our CEO?", "we/ceo"),
        ("When do I get up?", "get/time"),
        ("Which day do I play tennis?", "tennis/day"),
        ("What do we use for styling?", "we/css"),
        ("Where is the user's blog hosted?", "blog/hosting"),
        ("Which Python does our app run on?", "python/version"),
        ("Am I married?", "user/partner"),
        ("How do I get to work?", "user/commute"),
    ],
)
def test_a_question_names_its_keys(query: str, key: str) -> None:
    assert key in keys_asked(query)
    assert len(keys_asked(query)) <= 4


def test_the_speaker_is_who_says_i() -> None:
    assert keyed("I live in Rome.", "Caroline") == [("caroline/lives_in", "rome")]
    assert keyed("Caroline: I live in Rome.", "caroline ") == [("caroline/lives_in", "rome")]
    assert keyed("I live in Rome.", "user") == [("user/lives_in", "rome")]


def test_named_speakers_share_what_is_the_projects_and_nothing_else() -> None:
    assert keyed("We use pnpm.", "Ann") == keyed("We use pnpm.", "Bo") == [("we/package_manager", "pnpm")]
    assert keyed("I use Vim.", "Ann") == [("ann/editor", "vim")]


@pytest.mark.parametrize("machine", ["assistant", "System", " ASSISTANT "])
def test_a_machine_sets_no_fact(machine: str) -> None:
    assert keyed("I live in Rome. We use npm.", machine) == []


def test_statements_stand_where_they_say() -> None:
    content = "  Ann: I live in Rome.\n- We use npm.\nOur rent is 900.  "
    found = statements(content, "Ann")
    assert [content[each.start : each.end] for each in found] == [each.text for each in found]
    assert [each.key for each in found] == ["ann/lives_in", "we/package_manager", "ann/rent"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Always answer in German.", "instruction"),
        ("Never deploy on Fridays.", "instruction"),
        ("Remind me to call Ann.", "task"),
        ("I need to book the ferry.", "task"),
        ("I like Thai food.", "fact"),
        ("We spent the weekend in Porto.", "event"),
        ("Använd alltid pytest.", "instruction"),
        ("Antworte auf Deutsch.", "instruction"),
    ],
)
def test_a_statement_has_a_kind(text: str, kind: str) -> None:
    assert [each.type for each in statements(text)] == [kind]


def test_neither_case_nor_white_space_changes_a_fact() -> None:
    for case in cases(CASES / "open.jsonl"):
        for said in case["statements"]:
            text = said["text"]
            if '"' not in text:  # where a quotation ends, the splitter looks at the case of what follows
                assert keyed(text) == keyed(f"\n {text.upper()}\t ") == keyed(text.casefold()), text


TEXT = st.one_of(
    st.text(),
    st.text(st.characters()),
    st.lists(
        st.sampled_from(
            [
                "I",
                "we",
                "user",
                "'s",
                "moved",
                "from",
                "to",
                "npm",
                "pnpm",
                "is",
                "my",
                "rent",
                "the",
                ":",
                ",",
                ".",
                "1,000",
                "May",
                "9:30",
                "not",
                "instead of",
                "vi",
                "ist",
                "\ud800",
                "\n",
                "?",
            ]
        )
    ).map(" ".join),
)


@given(TEXT, st.none() | st.text())
def test_any_text_can_be_read(text: str, speaker: str | None) -> None:
    found = statements(text, speaker)
    assert all((each.value is None) == (each.key is None) for each in found)
    assert all(0 <= each.start < each.end <= len(text) for each in found)
    assert len(keys_asked(text)) <= 4
