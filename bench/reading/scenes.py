"""Questions over scenes, each scene an agent of its own: what comes first, and what is told where nothing answers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.reading.asking import Answer, Asked, Asking, Told
from training.reader.scenes import Question, Scene, files, read_scenes

_SURE = 0.5


@dataclass(slots=True)
class Tally:
    """What is counted of one language."""

    questions: int = 0
    first: int = 0
    recalled: float = 0.0
    """The shares of what answers that are among ten entries, added up."""
    changed: int = 0
    """Questions of which an answer holds no longer."""
    outdated: int = 0
    """Those where it comes before what holds."""
    answered: list[float] = field(default_factory=list)
    """The best score of each question that something answers."""
    absent: list[float] = field(default_factory=list)
    """The best score of each question that nothing answers."""

    def add(self, scene: Scene, question: Question, answer: Answer) -> None:
        """Count a question."""
        best = max(answer.scores, default=0.0)
        if not question.answers:
            self.absent.append(best)
            return
        right, stale = ({scene.memories[id_].text for id_ in ids} for ids in (question.answers, question.stale))
        self.questions += 1
        self.answered.append(best)
        self.first += answer.place(right) == 0
        self.recalled += len(right & set(answer.texts)) / len(right)
        if stale:
            self.changed += 1
            self.outdated += answer.place(stale) < answer.place(right)

    def rows(self) -> list[tuple[str, str]]:
        """Return the figures."""
        pairs = [(right > wrong) + (right == wrong) / 2 for right in self.answered for wrong in self.absent]
        sure = sum(score >= _SURE for score in self.absent)
        return [
            ("right first", f"{100 * self.first / max(1, self.questions):.1f} % of {self.questions}"),
            ("recalled among ten", f"{100 * self.recalled / max(1, self.questions):.1f} %"),
            ("outdated before current", f"{100 * self.outdated / max(1, self.changed):.1f} % of {self.changed}"),
            ("answerable against absent, AUC", f"{sum(pairs) / max(1, len(pairs)):.3f}"),
            ("absent at .5 or more", f"{100 * sure / max(1, len(self.absent)):.1f} % of {len(self.absent)}"),
        ]


async def measure(asking: Asking, folder: Path) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the figures of each language, and of all."""
    scenes = read_scenes(files(folder))
    await asking.tell(
        [
            Told(f"scene-{number}", memory.text, memory.date)
            for number, scene in enumerate(scenes)
            for memory in scene.memories.values()
        ]
    )
    asked = [(number, scene, question) for number, scene in enumerate(scenes) for question in scene.questions]
    answers = await asking.ask([Asked(f"scene-{number}", question.text) for number, _, question in asked])
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for (_, scene, question), answer in zip(asked, answers, strict=True):
        for name in ("all", scene.language):
            tallies[name].add(scene, question, answer)
    return {name: tally.rows() for name, tally in sorted(tallies.items())}
