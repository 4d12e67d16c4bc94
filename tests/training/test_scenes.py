"""The scenes that the reader is trained on can be read, and a line that is none of a scene is named."""

from pathlib import Path

import pytest

from training.reader.scenes import SEALED, TRAINING, UnreadableScene, files, read_scenes

SCENE = "# en home\n" + "\n".join(f"m{number} 2026-01-{number:02} fact: Statement {number}" for number in range(1, 13))


def read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "one.txt"
    path.write_text(text, "utf-8")
    read_scenes([path])


@pytest.mark.parametrize("path", [*files(TRAINING), *files(SEALED)], ids=lambda path: path.stem)
def test_each_file_of_scenes_is_read_and_has_something_of_each_kind(path: Path) -> None:
    scenes = read_scenes([path])
    assert len(scenes) >= 2
    assert all(scene.relations and scene.questions and scene.claims for scene in scenes)


def test_no_sealed_scene_is_trained_on() -> None:
    trained = {memory.text for scene in read_scenes(files(TRAINING)) for memory in scene.memories.values()}
    sealed = {memory.text for scene in read_scenes(files(SEALED)) for memory in scene.memories.values()}
    assert len(trained & sealed) <= len(sealed) // 200  # "ok", "done" and the like are said again


def test_what_a_scene_says_is_read(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(f"{SCENE} ~m1 >m2\nq m3 !m2 ?m1: What now?\nq -: And then?\nt m1 m2: Both.\nf m12: None.", "utf-8")
    (scene,) = read_scenes([path])
    assert [(one.older, one.newer, one.name) for one in scene.relations] == [
        ("m2", "m12", "replaces"),
        ("m1", "m12", "holds"),
    ]
    assert scene.memories["m12"].text == "Statement 12"
    assert [(one.answers, one.stale, one.near) for one in scene.questions] == [(["m3"], ["m2"], ["m1"]), ([], [], [])]
    assert [(one.sources, one.follows) for one in scene.claims] == [(["m1", "m2"], True), (["m12"], False)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("m13 2026-02-01 rumour: Who knows?", "no line of a scene"),
        ("m1 2026-02-01 fact: Again", "there already"),
        ("m13 2026-02-01 fact: More >m14", "m14 does not stand before"),
        ("q m99: Where?", "m99 does not stand before"),
        ("t m99: It follows.", "m99 does not stand before"),
        ("hello", "no line of a scene"),
    ],
)
def test_a_line_that_is_none_is_named_with_its_file_and_number(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(UnreadableScene, match=rf"one\.txt:14: .*{told}"):
        read(tmp_path, f"{SCENE}\n{line}\n")


def test_a_scene_of_few_memories_or_without_a_heading_is_none(tmp_path: Path) -> None:
    with pytest.raises(UnreadableScene, match="only 1 memories"):
        read(tmp_path, "# en home\nm1 2026-01-01 fact: One\n# en work")
    with pytest.raises(UnreadableScene, match="begins with"):
        read(tmp_path, "m1 2026-01-01 fact: One")
