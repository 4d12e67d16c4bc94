"""What plain vectors of the same embedding model find of scenes: a floor beside which the service is measured."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from bench.reading.asking import Answer
from bench.reading.figure import Figure
from bench.reading.scenes import AgentOf, questions, tallied
from training.reader.examples import Vectors
from training.reader.scenes import Scene

_MOST = 10


def measure(scenes: Sequence[Scene], agent_of: AgentOf, vectors: Vectors) -> list[Figure]:
    """Return the figures of scenes, the memories of an agent being ordered by their cosine with the question."""
    return tallied(scenes, _answers(scenes, agent_of, vectors))


def _answers(scenes: Sequence[Scene], agent_of: AgentOf, vectors: Vectors) -> Iterator[Answer]:
    told: defaultdict[str, list[str]] = defaultdict(list)
    for number, scene in enumerate(scenes):
        told[agent_of(number, scene)] += [memory.text for memory in scene.memories.values()]
    rows = {agent: vectors(texts) for agent, texts in told.items()}
    asked = vectors([question.text for _, _, question in questions(scenes)])
    for row, (number, scene, _) in zip(asked, questions(scenes), strict=True):
        agent = agent_of(number, scene)
        cosines = rows[agent] @ row
        best = np.argsort(-cosines)[:_MOST]
        yield Answer([told[agent][place] for place in best], [float(cosines[place]) for place in best])
