"""Names, codes and identifiers stand in a source, or are who said it."""

import pytest

from tests.grounding.guards.cases import found

CASES = [
    ("The user met Eva yesterday.", "I met Ann yesterday.", ["Eva"]),
    ("The user uses GitHub and Next.js.", "i use github and nextjs", []),
    ("The user lives in Frankfurt-Höchst.", "I live in Frankfurt, in Höchst.", []),
    ("The user knows the Millers.", "I know Miller.", []),
    ("The error is E1234.", "The error is E1243.", ["E1234"]),
    ("The path is src/app.py.", "The path is src/main.py.", ["src/app.py"]),
    ("The assistant answers the User.", "Answer me.", []),
    ("Die Nutzerin kaufte ein Fahrrad.", "Ich habe mir ein Rad gekauft.", []),
    ("Der Nutzer verwendet IPv6.", "Ich benutze IPv4.", ["IPv6"]),
]


@pytest.mark.parametrize(("statement", "line", "rejected"), CASES)
def test_a_name_that_no_source_has_is_rejected(statement: str, line: str, rejected: list[str]) -> None:
    assert found("names", statement, line) == rejected


def test_who_speaks_is_named_by_that() -> None:
    assert found("names", "Tea is liked by Ann.", "I like tea.", speaker="Ann") == []
    assert found("names", "Tea is liked by Ann.", "I like tea.", speaker="Bob") == ["Ann"]
