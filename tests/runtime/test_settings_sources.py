"""Settings are read from their variables."""

import pytest
from pydantic_settings import EnvSettingsSource, SettingsError

from app.settings.settings import Settings
from app.settings.sources import Variables


@pytest.mark.parametrize("value", ["1", "x", '{"a": 1}', '["a"]', ""])
def test_variables_that_are_set_are_read_as_pydantic_reads_all_of_them(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    names = list(Settings.model_fields)
    for number, name in enumerate(names):
        if number % 3:
            monkeypatch.setenv(name.upper() if number % 2 else name, value)
    assert _read(Variables) == _read(EnvSettingsSource)
    assert bool(value) == bool(_read(Variables))


def _read(source: type[EnvSettingsSource]) -> object:
    try:
        return source(Settings)()
    except SettingsError as error:
        return str(error).replace(source.__name__, "")
