"""Writes what the model's vectors have in common and how languages differ: ``python -m training.languages``.

The texts are those of the reader's scenes, and of ``bench/quality/languages.jsonl`` in the languages that no scene is
in. For each language the mean of its vectors is taken, half of memories and half of questions. What all texts have in
common is the mean over languages; in which directions languages differ, the principal axes of their means.
"""

import asyncio
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from app.adapters.local.multilingual.conversion import LANGUAGES, LANGUAGES_APART
from app.adapters.local.multilingual.installed import multilingual_model_dir
from app.adapters.local.transformer import TransformerEmbedder
from app.adapters.prefixed import Prefixes
from bench.quality.dataset import read
from training.reader.scenes import TRAINING, read_scenes

_SEED = 5
_MEMORIES, _QUESTIONS = 150, 100
"""At most so many of each language."""
_AT_ONCE = 16
_ENCODER = ("config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json")
"""The files of the model without the step that is made here."""
_OTHER = Path(__file__).parents[2] / "bench" / "quality" / "languages.jsonl"

_Vectors = npt.NDArray[np.float32]


async def main() -> None:
    """Run the command."""
    texts: dict[str, tuple[list[str], list[str]]] = {}
    for scene in read_scenes(sorted(TRAINING.glob("*.txt"))):
        memories, questions = texts.setdefault(scene.language, ([], []))
        memories += [memory.text for memory in scene.memories.values()]
        questions += [question.text for question in scene.questions]
    for conversation in read([_OTHER]):
        if conversation.conv_id not in texts:
            told = [memory.content for memory in conversation.memories]
            texts[conversation.conv_id] = (told, [question.text for question in conversation.questions])
    with TemporaryDirectory() as folder:
        for name in _ENCODER:
            (Path(folder) / name).symlink_to(multilingual_model_dir() / name)
        embedder = TransformerEmbedder(Path(folder), exact=True)
        means = [await _mean(embedder, *of_language) for _, of_language in sorted(texts.items())]
        await embedder.close()
    common = np.mean(means, axis=0)
    _, _, directions = np.linalg.svd(np.stack(means) - common, full_matrices=False)
    save_file({"common": common, "directions": directions[:LANGUAGES_APART]}, LANGUAGES)
    print(f"{', '.join(sorted(texts))}: written to {LANGUAGES}")


async def _mean(embedder: TransformerEmbedder, memories: list[str], questions: list[str]) -> _Vectors:
    draw, prefixes = Random(_SEED), Prefixes.of_model("multilingual-e5-small")  # noqa: S311 - the same each time
    drawn = (
        [prefixes.document + text for text in draw.sample(memories, min(_MEMORIES, len(memories)))],
        [prefixes.query + text for text in draw.sample(questions, min(_QUESTIONS, len(questions)))],
    )
    halves = [(await _embedded(embedder, texts)).mean(axis=0) for texts in drawn]
    mean: _Vectors = np.mean(halves, axis=0, dtype=np.float32)
    return mean


async def _embedded(embedder: TransformerEmbedder, texts: list[str]) -> _Vectors:
    parts = [texts[start : start + _AT_ONCE] for start in range(0, len(texts), _AT_ONCE)]
    return np.concatenate([np.stack((await embedder.embed(part, "document")).vectors) for part in parts])


if __name__ == "__main__":
    asyncio.run(main())
