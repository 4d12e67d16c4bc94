"""Checks scenes, trains the reader with them, and measures it: ``python -m training.reader --help``."""

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.adapters.local.reader.local_reader import PACKAGED
from app.adapters.local.reader.tokens import ReaderTokens
from app.adapters.local.transformer import packaged_model_dir
from app.adapters.local.wordpiece import WordPiece
from training.reader.examples import TO_TRAIN, Examples
from training.reader.figures import Figures, figures
from training.reader.measuring import DRAW, Embedded, by_language, divided
from training.reader.scenes import TRAINING, UnreadableScene, files, read_scenes


def main() -> None:
    """Run one of the commands."""
    parser = ArgumentParser(prog="python -m training.reader", description=__doc__)
    commands = parser.add_subparsers(required=True)
    check = commands.add_parser("check", help="read scenes and say which line is none")
    check.add_argument("files", nargs="*", type=Path)
    check.set_defaults(run=_check)
    train = commands.add_parser("train", help="train, and write weights for export; needs PyTorch")
    train.add_argument("out", type=Path, help="the file to write")
    train.add_argument("--scenes", type=Path, default=TRAINING)
    train.add_argument("--epochs", type=int, default=2)
    train.add_argument("--seed", type=int, default=1)
    train.add_argument("--rate", type=float, default=1.2e-4)
    train.add_argument("--begun", type=Path, help="weights that an earlier run wrote, to go on from")
    train.add_argument("--fraction", type=float, default=1.0, help="of the files, for a trial")
    train.set_defaults(run=_train)
    export = commands.add_parser("export", help="make the service's files of weights that were trained; needs PyTorch")
    export.add_argument("weights", type=Path, nargs="+", help="what train wrote; several are averaged")
    export.add_argument("--version", required=True)
    export.add_argument("--out", type=Path, default=PACKAGED)
    export.add_argument("--scenes", type=Path, default=TRAINING)
    export.set_defaults(run=_export)
    measure = commands.add_parser("measure", help="measure the service's files on scenes")
    measure.add_argument("--weights", type=Path, default=PACKAGED)
    measure.add_argument("--scenes", type=Path, required=True)
    measure.set_defaults(run=_measure)
    given = parser.parse_args()
    given.run(given)


def _check(given: Namespace) -> None:
    try:
        scenes = read_scenes(given.files or files(TRAINING))
    except UnreadableScene as error:
        sys.exit(str(error))
    counts = {
        "scenes": len(scenes),
        "memories": sum(len(scene.memories) for scene in scenes),
        "relations": sum(len(scene.relations) for scene in scenes),
        "questions": sum(len(scene.questions) for scene in scenes),
        "claims": sum(len(scene.claims) for scene in scenes),
    }
    print(json.dumps(counts))


def _train(given: Namespace) -> None:
    from training.reader.train import Plan, Trainer, digest, digest_of, save  # noqa: PLC0415 - it needs PyTorch

    trunk = _trunk()
    trained, aside = divided(given.scenes)
    trained = trained[: max(1, round(len(trained) * given.fraction))]
    data = digest(path.read_bytes() for path in trained)
    print(f"{len(trained)} files to train with, {len(aside)} kept aside; data {data}")
    vectors, tokens = Embedded(trunk), ReaderTokens(WordPiece.from_directory(trunk))
    trainer = Trainer(trunk, tokens, Plan(epochs=given.epochs, seed=given.seed, rate=given.rate), given.begun)
    kept = Examples(read_scenes(aside), vectors).epoch(DRAW)
    begun = time.monotonic()
    for number, loss, found in trainer.train(Examples(read_scenes(trained), vectors, TO_TRAIN), kept):
        print(f"epoch {number}: loss {loss:.4f}, {(time.monotonic() - begun) / 60:.1f} minutes")
        _print(found)
        weights = trainer.result()
        save(weights, given.out, data=data, seed=given.seed, epochs=given.epochs, epoch=number)
    print(f"weights {digest_of(weights)} in {given.out}")


def _export(given: Namespace) -> None:
    from training.reader.computed import ComputedReader  # noqa: PLC0415
    from training.reader.export import calibrated, cooled, write_files  # noqa: PLC0415
    from training.reader.train import averaged  # noqa: PLC0415 - it needs PyTorch

    trunk = _trunk()
    tensors, history = averaged(given.weights)
    write_files(given.out, given.version, trunk, tensors)
    aside = Examples(read_scenes(divided(given.scenes)[1]), Embedded(trunk)).epoch(DRAW)
    rows = ComputedReader(trunk, given.out).read(aside)
    temperatures, thresholds = calibrated(aside, rows)
    write_files(given.out, given.version, trunk, tensors, temperatures, thresholds, {"trained": history})
    _print(figures(aside, cooled(rows, aside, temperatures)))


def _measure(given: Namespace) -> None:
    from training.reader.computed import ComputedReader  # noqa: PLC0415

    trunk = _trunk()
    scenes = read_scenes(files(given.scenes))
    for language, found in by_language(scenes, ComputedReader(trunk, given.weights), Embedded(trunk)).items():
        print(f"{language}:")
        _print(found)


def _trunk() -> Path:
    directory = packaged_model_dir()
    if directory is None:
        sys.exit("The embedding model is not installed: make run installs it.")
    return directory


def _print(found: Figures) -> None:
    for name, value in found.items():
        print(f"  {name}: {value:.4g}", flush=True)


if __name__ == "__main__":
    main()
