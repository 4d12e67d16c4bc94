"""Where settings are read from."""

from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource


class Variables(EnvSettingsSource):
    """Reads the environment variables that are set.

    To look at the types of the settings that have no variable takes longer than most commands work.
    """

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the text of the setting's variable, the setting's name, and whether the text has parts."""
        if field_name in self.env_vars:
            return super().get_field_value(field, field_name)
        return None, field_name, True  # a text with parts has no other name that would be looked for

    def prepare_field_value(
        self,
        field_name: str,
        field: FieldInfo,
        value: object,
        value_is_complex: bool,  # noqa: FBT001 - pydantic's argument
    ) -> object:
        """Return what the text stands for; None where there is none."""
        return None if value is None else super().prepare_field_value(field_name, field, value, value_is_complex)
