"""Names the extras of the package: one for each adapter."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Extras(MetadataHookInterface):
    """Makes an extra of each folder of ``adapters`` that says in ``requires.txt`` what it needs.

    The extra is named like the folder, with ``-`` for ``_``: an adapter is removed by deleting its folder.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the extras to the metadata."""
        adapters = Path(self.root, "memory_gateway_client", "adapters")
        metadata["optional-dependencies"] = {
            requires.parent.name.replace("_", "-"): _lines(requires) for requires in adapters.glob("*/requires.txt")
        }


def _lines(requires: Path) -> list[str]:
    lines = requires.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
