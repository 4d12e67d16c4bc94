"""The stages of learning and answering that a language model is asked for."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

Stage: TypeAlias = Literal["extract", "detail", "verify", "classify", "analyse", "synthesise"]
"""What a model is asked for; each stage may have a model of its own (docs/constrained-api.md)."""
STAGES: Final[Sequence[Stage]] = get_args(Stage)
