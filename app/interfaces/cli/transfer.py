"""Commands that export and import a tenant's memories, and check an export."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, BinaryIO

import click

from app.domain.author import Author
from app.interfaces.cli.acting import administers, note_counts
from app.interfaces.cli.parameters import (
    DEFAULT,
    CommandAnswer,
    Id,
    indexing,
    prints_answer,
    run,
    tenant_option,
    with_runtime,
)
from app.interfaces.cli.progress import MoveBar, progress_bar
from app.runtime.runtime import Runtime
from app.services.transfer.export import Export
from app.services.transfer.formats import FORMATS
from app.services.transfer.importer import Import
from app.services.transfer.intake import LineCutter, import_lines, import_records
from app.services.transfer.lines import FORMAT
from app.services.transfer.report import STATUSES, ImportReport
from app.services.transfer.retry_budget import RetryBudget
from app.services.transfer.verify import ExportVerdict
from app.services.transfer.verify import verify as verify_lines

_CHUNK = 16 * 1024
PATIENCE_SECONDS = 3600.0
"""How long a command waits for embeddings and writes, all retries together."""
_MAX_SHOWN = 20

file_argument = click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))


@click.command()
@tenant_option
@click.option("--agent", type=Id(), help="Export the memories of this agent alone.")
@click.option("--vectors", is_flag=True, help="Add the vectors, so that an import need not embed.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, once all is there."
)
@administers("memories.export")
def export(tenant: str, agent: str | None, output: Path | None, *, vectors: bool) -> None:
    """Write a tenant's memories to a file, line by line.

    Without --output they go to standard output.
    """
    with written(output) as file, progress_bar("Exporting") as move:

        async def work(runtime: Runtime) -> None:
            running = Export(
                runtime.backends.of_tenant(tenant),
                agent_id=agent,
                vectors=vectors,
                retry_budget=RetryBudget(PATIENCE_SECONDS),
            )
            async for chunk in running.chunks():
                file.write(chunk)
                move(running.total.memories, running.memories)
            note_counts({"memories": running.memories})

        run(with_runtime(work, tenant))


@click.command("import")
@file_argument
@tenant_option
@click.option("--agent", type=Id(), help="Write every memory to this agent, whatever agent its line names.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([FORMAT, *sorted(FORMATS)]),
    default=FORMAT,
    show_default=True,
    help="Read a file of this format.",
)
@administers("memories.import")
@prints_answer
def import_(file: Path, tenant: str, agent: str | None, format_: str) -> CommandAnswer:
    """Store the memories of a file, an export's or another system's.

    Where FILE is -, standard input is read. What is there already stays as it is. With --agent every memory is written
    to that agent. Without it each goes to the agent that its line names, or to default where another system's names
    none. The last line of the output names the agents that were written to.
    """
    with closing(ImportReport()) as report:
        with _opened(file) as stream, progress_bar("Importing") as move:

            async def work(runtime: Runtime) -> None:
                importing = Import(
                    runtime.backends.of_tenant(tenant, Author(channel="import")),
                    report,
                    to_agent=agent,
                    retry_budget=RetryBudget(PATIENCE_SECONDS),
                )
                async with indexing(runtime):
                    if format_ == FORMAT:
                        await import_lines(_chunks(stream, move), importing, report)
                        return
                    size = _size(stream)
                    with _text(stream) as text:
                        records = FORMATS[format_].read(text, agent or DEFAULT, lambda done, of: move(done, of or size))
                        await import_records(records, importing, report)

            run(with_runtime(work, tenant))
        return imported(report)


def imported(report: ImportReport) -> CommandAnswer:
    """Show the first lines that were rejected, and return what an import has stored.

    It failed unless every line was taken and none is missing.
    """
    _show_problems(report)
    counts = ", ".join(f"{report.counts[status]} {status}" for status in STATUSES)
    return CommandAnswer(
        report.summary | {"agents": dict(report.agents)},
        f"{counts}. {_END[report.end]}{_of_another(report)}{_written_to(report)}",
        failed=not report.flawless,
    )


@click.command()
@file_argument
@prints_answer
def verify(file: Path) -> CommandAnswer:
    """Check that an exported file is whole and unchanged.

    Its form, its hashes, its order and its end are looked at. No database is needed.
    """
    with _opened(file) as stream, progress_bar("Verifying") as move:
        verdict = verify_lines(_read(stream, move))
    return CommandAnswer(asdict(verdict), _verdict_text(verdict), failed=bool(verdict.flaws))


_END = {
    "holds": "The file is whole.",
    "wrong": "The closing line is not that of the lines before it.",
    "missing": "There is no closing line: the file is cut off.",
}


def _of_another(report: ImportReport) -> str:
    """Say that the file is another tenant's, and what to do where that was not meant."""
    if report.of_tenant is None:
        return ""
    return (
        f"\nThe file is an export of the tenant {report.of_tenant}. If it was not meant for this one, take "
        "back what came in: memory-gateway agents shows where it is, and purge deletes it."
    )


def _written_to(report: ImportReport) -> str:
    """Name the agents that were written to, those with the most lines, of memories and of rows, first."""
    if not report.agents:
        return ""
    named = ", ".join(f"{agent_id} ({count})" for agent_id, count in report.agents.most_common(_MAX_SHOWN))
    left = report.counts["imported"] - sum(count for _, count in report.agents.most_common(_MAX_SHOWN))
    return f"\nWritten to the agents: {named}{f' and others ({left})' if left else ''}."


def _verdict_text(verdict: ExportVerdict) -> str:
    found = f"{verdict.lines} lines, {verdict.memories} memories, {verdict.vectors} vectors, {verdict.rows} rows."
    if not verdict.flaws:
        return f"{found} The file is whole."
    more = "\n..." if verdict.flaws > len(verdict.examples) else ""
    return "\n".join([found, f"{verdict.flaws} flaws:", *verdict.examples]) + more


def _show_problems(report: ImportReport) -> None:
    """Show the first lines that were rejected."""
    if report.flawless:
        return
    cutter, shown = LineCutter(), 0
    for chunk in report.chunks():
        for _, text, _ in cutter.lines(chunk):
            if text is None or not any(f'"status":"{status}"'.encode() in text for status in ("conflict", "rejected")):
                continue
            shown += 1
            if shown <= _MAX_SHOWN:
                click.echo(text.decode(), err=True)
    if shown > _MAX_SHOWN:
        click.echo(f"... and {shown - _MAX_SHOWN} more", err=True)


@contextmanager
def written(path: Path | None, hint: str = "'--output'") -> Iterator[IO[bytes]]:
    """Open a file that is renamed to its path only once it is complete; without a path, standard output.

    A link stays one. A pipe or a device is written to: a file that took its place would be read by nobody.
    """
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft: Path | None = None
    file: IO[bytes]
    try:
        target = path.resolve()
        if path.exists() and not path.is_file():
            file = path.open("wb")
        else:
            file = NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115 - closed below
            draft = Path(file.name)
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint=hint) from error
    with file:
        try:
            yield file
            file.flush()
            if draft is not None:
                os.fsync(file.fileno())
                draft.replace(target)
        except BaseException:
            if draft is not None:
                draft.unlink()
            raise


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = path.open("rb")
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error
    with stream:
        yield stream


@contextmanager
def _text(stream: BinaryIO) -> Iterator[TextIOWrapper]:
    """Read a stream as UTF-8; whoever opened it closes it."""
    text = TextIOWrapper(stream, "utf-8")
    try:
        yield text
    finally:
        text.detach()


def _size(stream: BinaryIO) -> int | None:
    """Return the size of a file; None where it is not known, as of a pipe."""
    with suppress(OSError):
        return os.fstat(stream.fileno()).st_size or None
    return None


async def _chunks(stream: BinaryIO, move: MoveBar) -> AsyncIterator[bytes]:
    for chunk in _read(stream, move):
        yield chunk


def _read(stream: BinaryIO, move: MoveBar) -> Iterator[bytes]:
    size, done = _size(stream), 0
    while chunk := stream.read(_CHUNK):
        yield chunk
        done += len(chunk)
        move(done, size)
