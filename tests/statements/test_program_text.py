"""Code, settings and log lines set no facts, and the prose around them is read where it stands."""

import pytest

from app.statements.rules import statements

PROGRAM_TEXT = {
    "fenced": "```yaml\nname: Run tests\nport: 9090\n```",
    "fenced with tildes": "~~~\nemail: john@acme.example\n~~~",
    "fenced to the end": "```\nport: 9090\nOur rent is 900.",
    "inline": "The email is `john@acme.example` here.",
    "a setting": "name: Run tests",
    "an item of settings": "- name: Deploy to production",
    "a setting with a tool": "database: postgres",
    "a status": "status: 429,",
    "a style": "height: 300px;",
    "an object": '{"name": "Ann", "port": 80}',
    "an entry": '"email": "john@acme.example",',
    "an assignment": 'domain = "acme.example"',
    "a call": "const port = server.listen(9090);",
    "a line of a log": "2026-01-01 10:00:00 ERROR port: 8080",
    "a request": "GET /users HTTP/1.1",
    "a comment": "// the port is 8080",
    "mathematics": "P(A) = P(B) only works for independent events",
}


@pytest.mark.parametrize("case", PROGRAM_TEXT)
def test_program_text_sets_no_fact(case: str) -> None:
    assert [each.key for each in statements(PROGRAM_TEXT[case]) if each.value] == []


def test_what_stands_around_code_is_read_in_its_place() -> None:
    content = "We use npm.\n```sh\npip install flask\nport: 1\n```\nSee `run()`: my rent is 900.\n"
    found = statements(content)
    assert [each.key for each in found] == ["we/package_manager", "user/rent"]
    assert [content[each.start : each.end] for each in found] == [each.text for each in found]
    assert found[1].text == "See `run()`: my rent is 900."


@pytest.mark.parametrize(
    "text", ["Error tracking is done with Sentry.", "Info: wir nutzen pnpm.", "Our port is 8080 (not 80)."]
)
def test_prose_that_looks_a_little_like_code_is_read(text: str) -> None:
    assert [each.value is not None for each in statements(text)] == [True]
