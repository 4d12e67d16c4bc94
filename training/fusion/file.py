"""Writes the weights into the file that the service reads, so that a person can read it too."""

from pathlib import Path

from app.retrieval.weights import KindWeights, Weights
from training.fusion.fitting import GIVEN

_HEAD = """\
# What counts in the score of a memory: docs/retrieval.md explains it. Written by `python -m training.fusion fit`.
# What is given is not fitted: it is set, or stands in a fixed proportion to what is fitted.

# How evidence becomes a likelihood, in log odds: `evidence` times its own, `others` times the logarithm of the sum of
# e to the evidence of each candidate and e to `nothing`, `memories` times the logarithm of how many the scope has, and
# `base`.
[score]
"""


def write(weights: Weights, file: Path) -> None:
    """Write them; what is read again equals them."""
    score = "".join(f"{name} = {value}\n" for name, value in weights.score.model_dump().items())
    kinds = [
        f"# {what}\n{_kind(name, kind)}"
        for name, kind, what in (
            ("note", weights.note, "A memory without a session."),
            ("turn", weights.turn, "A turn of a session."),
        )
    ]
    file.write_text("\n".join([_HEAD + score, *kinds]), encoding="utf-8")


def _kind(name: str, kind: KindWeights) -> str:
    channels = "".join(
        f"{channel} = {value}{'  # given' if channel in GIVEN else ''}\n" for channel, value in kind.channels.items()
    )
    read = "".join(f"{each} = {value}\n" for each, value in kind.read.model_dump().items())
    return (
        f"[{name}]\nbase = {kind.base}\nunread = {kind.unread}\n\n[{name}.channels]\n{channels}\n[{name}.read]\n{read}"
    )
