import re
from pathlib import Path

import pytest

from app.errors import ConfigurationError
from app.settings import Settings, load_settings

ROOT = Path(__file__).parent.parent
NAMES = {name.upper() for name in Settings.model_fields}


def test_every_setting_is_in_the_example_with_its_default() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    example = dict(line.removeprefix("# ").split("=", 1) for line in lines if re.match(r"# [A-Z0-9_]+=", line))
    assert set(example) == NAMES
    defaults = Settings(_env_file=None)
    for name, value in example.items():
        default = getattr(defaults, name.lower())
        assert value == ("" if default in ({}, None) else str(default)), name


def test_every_setting_is_in_the_readme_with_its_description() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| (.*?) \| (.*?) \|$", readme, re.MULTILINE)
    assert {name: description for name, _, description in rows} == {
        name.upper(): field.description for name, field in Settings.model_fields.items()
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("short", "write each secret as kid=secret|at least 32 bytes"),
        ("k=short", "at least 32 bytes"),
        ("=" + "x" * 32, "write each secret as kid=secret"),
        ("k=" + "x" * 32 + ",k=" + "y" * 32, "kid of its own"),
    ],
)
def test_a_secret_that_cannot_be_used_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    monkeypatch.setenv("AUTH_SECRETS", value)
    with pytest.raises(ConfigurationError, match=problem) as caught:
        load_settings()
    assert caught.value.detail.startswith("AUTH_SECRETS: ")
    assert "Value error" not in caught.value.detail
    assert "xxxx" not in caught.value.detail


def test_several_secrets_are_read_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = "n" * 31 + "=", "o" * 32
    monkeypatch.setenv("AUTH_SECRETS", f"new={new}, old={old}")
    settings = load_settings()
    assert list(settings.auth_secrets.items()) == [("new", new), ("old", old)]
    assert new not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("PORT", "70000"), ("EMBEDDER", "magic"), ("LOG_FORMAT", "xml")]
)
def test_a_setting_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        load_settings()


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9000")
    assert (load_settings(port=9001).port, load_settings(port=None).port) == (9001, 9000)
