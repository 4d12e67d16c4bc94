"""The bar that shows on standard error how far a command is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import click

MoveBar: TypeAlias = Callable[[int, int | None], None]
"""Takes how much is done and of how much; None where nobody knows."""


@contextmanager
def progress_bar(label: str) -> Iterator[MoveBar]:
    """Show a bar while work goes on; yield the function that moves it. Work that ends without an error fills it."""
    length: Any = 1  # click's types know of no bar without a length, and click does
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:

        def move(done: int, of: int | None) -> None:
            bar.length = None if of is None else max(of, 1)
            step = done if of is None else min(done, of)
            bar.update(max(0, step - bar.pos))

        yield move
        bar.length = max(bar.pos, 1)
        bar.update(bar.length - bar.pos)
        bar.finish()
        bar.render_progress()
