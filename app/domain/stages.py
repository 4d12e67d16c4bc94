"""The stages of learning and answering in which a language model is called."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

Stage: TypeAlias = Literal["extract", "detail", "verify", "classify", "analyse", "synthesise"]
"""A stage in which a language model is called; each stage may have its own model (docs/constrained-api.md)."""
STAGES: Final[Sequence[Stage]] = get_args(Stage)
