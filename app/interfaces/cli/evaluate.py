"""The command ``eval``: what recalls find of a published set of conversations and questions."""

import time
from itertools import count
from pathlib import Path

import click

from app.domain.errors import InvalidRequest
from app.domain.limits import MAX_TOP_K
from app.interfaces.cli.evaluation.dataset import DataInvalid
from app.interfaces.cli.evaluation.figures import set_figures
from app.interfaces.cli.evaluation.measuring import measure_set
from app.interfaces.cli.evaluation.published import SETS, drawn_questions, has_evidence, read_set
from app.interfaces.cli.evaluation.report import SetReport
from app.interfaces.cli.parameters import CommandAnswer, prints_answer, quiet_settings, run
from app.interfaces.cli.progress import progress_bar


class _Ks(click.ParamType[tuple[int, ...]]):
    """How many entries are counted: numbers with commas between them."""

    name = "numbers"

    def convert(
        self, value: str | tuple[int, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read the numbers."""
        if isinstance(value, tuple):
            return value
        numbers = value.split(",")
        if not all(number.isdecimal() and 0 < int(number) <= MAX_TOP_K for number in numbers):
            self.fail(f"write numbers from 1 to {MAX_TOP_K} with commas between them, as in 5,10", param, ctx)
        return tuple(sorted({int(number) for number in numbers}))


@click.command("eval")
@click.option("--set", "name", type=click.Choice(list(SETS)), required=True, help="Say which set it is.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--conversations", type=click.IntRange(min=1), help="Take the first so many conversations alone.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask so many of the questions, always the same.")
@click.option("--at", type=_Ks(), default="5,10", show_default=True, help="Count among the first so many entries.")
@prints_answer
def evaluate(
    name: str, files: tuple[Path, ...], conversations: int | None, questions: int | None, at: tuple[int, ...]
) -> CommandAnswer:
    """Measure what recalls find of a published set of conversations.

    FILE is the set as it is published (of BEAM a folder), or lines of bench/quality's form. It is told to a service of
    this process in a folder that is deleted, with the embedder and the reader of the settings: no memories are read or
    written. docs/evaluate.md says where each set is, and what the figures are.
    """
    settings = quiet_settings(kept_here=False)
    try:
        whole = read_set(name, files, conversations)
    except DataInvalid as error:
        raise InvalidRequest(str(error)) from error
    left_out = sum(not has_evidence(question) for each in whole for question in each.questions)
    asked = whole if questions is None else drawn_questions(whole, questions)
    if not any(has_evidence(question) for each in asked for question in each.questions):
        raise InvalidRequest("No question of it has evidence: nothing was asked.")
    started = time.monotonic()
    memories = sum(len(each.memories) for each in asked)
    with progress_bar("Memories told") as move:
        told = count(1)
        measured = run(measure_set(settings, asked, max(at), lambda: move(next(told), memories)))
    report = SetReport(
        name=name,
        conversations=len(asked),
        memories=memories,
        cut=sum(each.cut for each in asked),
        asked=len(measured.found),
        without_evidence=left_out,
        embedder=measured.embedder,
        reader=measured.reader,
        seconds=round(time.monotonic() - started, 1),
        figures=set_figures(measured.found, at),
    )
    return CommandAnswer(report.data(), report.text())
