"""Measures ingest and recall on a labelled set: ``python -m bench.evaluation FILES``."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from app.domain.errors import ConfigurationError, MemoryGatewayError
from app.interfaces.cli.parameters import as_json_option, run
from app.interfaces.text import json_text
from app.observability.logs import configure_logging
from app.settings import Settings, load_settings
from bench.evaluation.labelled import read_labelled
from bench.evaluation.measuring import EvaluatedSide, EvaluationRun, measure
from bench.evaluation.report import markdown, to_json

_MODEL, _NO_MODEL = "with the model", "without a model"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--runs", type=click.IntRange(1, 50), default=3, show_default=True, help="Run everything so many times.")
@click.option("--with", "changed", multiple=True, metavar="NAME=VALUE", help="A setting of what is measured.")
@click.option("--against", multiple=True, metavar="NAME=VALUE", help="Measure with this setting too, and compare.")
@click.option("--sealed", is_flag=True, help="Ask the questions too that are kept aside, and say so.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write JSON with every answer to this file."
)
@click.option("--note", multiple=True, help="A line to put below the figures.")
@as_json_option
def evaluate(
    files: tuple[Path, ...],
    runs: int,
    changed: tuple[str, ...],
    against: tuple[str, ...],
    out: Path | None,
    note: tuple[str, ...],
    *,
    sealed: bool,
    as_json: bool,
) -> None:
    """Measure how right answers are, on labelled conversations.

    Where a language model is set, everything is measured with it and without; with --against, with two settings. Each
    run keeps its memories in a folder of its own, which is deleted: no account's data are read or written.
    docs/evaluation.md has the form of the files.
    """
    conversations = read_labelled(files, sealed=sealed)
    sides = _sides(_read(changed), _read(against))
    configure_logging(sides[0].settings.log_format, "error")

    async def work() -> dict[str, Sequence[EvaluationRun]]:
        return {side.name: await measure(side, conversations, runs, _progress) for side in sides}

    measured = run(work())
    notes = [*_notes(sides, sealed=sealed), *note]
    data = to_json(measured, notes)
    if out is not None:
        out.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", "utf-8")
    click.echo(json_text(data, spaced=True) if as_json else markdown(measured, notes))


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        click.echo(line, err=True)


def _sides(changed: dict[str, str], against: dict[str, str]) -> list[EvaluatedSide]:
    """Return what is measured: one side, or two.

    Raises:
        ConfigurationError: a setting cannot be used.
    """
    settings = _settings(changed)
    if against:
        return [EvaluatedSide(_named(changed), settings), EvaluatedSide(_named(against), _settings(changed | against))]
    if settings.language_model == "none":
        return [EvaluatedSide(_NO_MODEL, settings)]
    return [EvaluatedSide(_NO_MODEL, _settings(changed | {"LANGUAGE_MODEL": "none"})), EvaluatedSide(_MODEL, settings)]


def _named(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "as set"


def _settings(changed: Mapping[str, str]) -> Settings:
    unknown = sorted(name for name in changed if name.lower() not in Settings.model_fields)
    if unknown:
        raise ConfigurationError(f"{unknown[0]} is no setting.")
    overrides: dict[str, object] = {name.lower(): value for name, value in changed.items()}
    return load_settings(before_env_file=False, folder_file=True, **overrides)


def _read(pairs: Sequence[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    wrong = [name for name, equals, _ in split if not equals]
    if wrong:
        raise click.UsageError(f"{wrong[0]}: write NAME=VALUE")
    return {name: value for name, _, value in split}


def _notes(sides: Sequence[EvaluatedSide], *, sealed: bool) -> list[str]:
    notes = [
        f"{side.name}: {side.settings.language_model} at {side.settings.language_model_url}."
        for side in sides
        if side.settings.language_model != "none"
    ]
    if sealed:
        notes.append("The questions that are kept aside were asked: nothing may be tuned on these figures.")
    return notes


def main() -> None:
    """Measure; print an expected error as one line, without a traceback and without figures."""
    try:
        evaluate(prog_name="python -m bench.evaluation")
    except MemoryGatewayError as error:
        click.echo(f"Error: {error.detail}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
