"""Questions over scenes: what comes first, and what is told where nothing answers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bench.reading.asking import Answer, Asked, Asking, Told
from bench.reading.figure import Figure, share
from training.reader.scenes import Question, Scene

ALL = "all"
_SURE = 0.5

AgentOf = Callable[[int, Scene], str]
"""Names the agent that is told a scene, of its number and itself."""


def alone(number: int, _: Scene) -> str:
    """Have each scene told to an agent of its own."""
    return f"scene-{number}"


def together(_: int, scene: Scene) -> str:
    """Have all scenes of a language told to one agent."""
    return f"all-{scene.language}"


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

    def figures(self, name: str) -> list[Figure]:
        """Return the figures under a name."""
        pairs = [(right > wrong) + (right == wrong) / 2 for right in self.answered for wrong in self.absent]
        sure = sum(score >= _SURE for score in self.absent)
        return [
            share(f"{name}: right first", self.first, self.questions),
            share(f"{name}: recalled among ten", self.recalled, self.questions),
            share(f"{name}: outdated before current", self.outdated, self.changed),
            Figure(f"{name}: answerable against absent, AUC", sum(pairs) / max(1, len(pairs))),
            share(f"{name}: absent at .5 or more", sure, len(self.absent)),
        ]


def questions(scenes: Sequence[Scene]) -> list[tuple[int, Scene, Question]]:
    """Return all questions with the scenes that they are asked of, and these scenes' numbers."""
    return [(number, scene, question) for number, scene in enumerate(scenes) for question in scene.questions]


def tallied(scenes: Sequence[Scene], answers: Iterable[Answer]) -> list[Figure]:
    """Return the figures of all scenes and of each language, of the answers in the order of ``questions``."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for (_, scene, question), answer in zip(questions(scenes), answers, strict=True):
        for name in (ALL, scene.language):
            tallies[name].add(scene, question, answer)
    return [figure for name, tally in sorted(tallies.items()) for figure in tally.figures(name)]


async def measure(asking: Asking, scenes: Sequence[Scene], agent_of: AgentOf) -> list[Figure]:
    """Tell a service scenes, ask their questions, and return the figures."""
    await asking.tell(
        [
            Told(agent_of(number, scene), memory.text, memory.date)
            for number, scene in enumerate(scenes)
            for memory in scene.memories.values()
        ]
    )
    asked = [Asked(agent_of(number, scene), question.text) for number, scene, question in questions(scenes)]
    return [*tallied(scenes, await asking.ask(asked)), asking.degraded()]
