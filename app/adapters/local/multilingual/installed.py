"""Says which multilingual model the service knows, and where its files are."""

import sys
from pathlib import Path
from typing import Final

PACKED_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""The digest of the model's file in its package."""
MULTILINGUAL_MODEL: Final = "multilingual-e5-small-054fabc1"
"""The model's name in embedding configs. Behind it stands a digest of the two files that its vectors depend on: vectors
of other weights, or with other directions of languages, are not compared with these."""


def multilingual_model_dir() -> Path:
    """Return where the model's files are once it is installed: beside the packages of this environment."""
    return Path(sys.prefix) / "share" / "memory-gateway" / "multilingual-e5-small"
