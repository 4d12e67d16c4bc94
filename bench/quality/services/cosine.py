"""Plain vectors: the exact cosine of an embedding model, in this process. What a recall has to beat."""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from bench.quality.dataset import Memory
from bench.quality.service import Answer, ranked
from training.reader.examples import Vectors


class Cosine:
    """A list of memories for each conversation; a question is embedded as it is."""

    def __init__(self, vectors: Vectors) -> None:
        """Take what embeds texts; texts that it knows already cost it nothing."""
        self._vectors = vectors
        self._memories: defaultdict[str, list[Memory]] = defaultdict(list)
        self._rows: dict[str, npt.NDArray[np.float32]] = {}

    async def store(self, namespace: str, memory: Memory) -> None:
        """Keep the text."""
        self._memories[namespace].append(memory)
        self._rows.pop(namespace, None)

    async def ready(self, namespace: str) -> None:
        """Return at once: what is stored is searched."""

    async def ask(self, namespace: str, question: str, top_k: int, at: str | None = None) -> Answer:
        """Return the nearest; of those that are equally near the one that was stored first."""
        del at
        memories = self._memories[namespace]
        if not memories:
            return Answer(())
        if namespace not in self._rows:
            self._rows[namespace] = self._vectors([memory.content for memory in memories])
        cosines = self._rows[namespace] @ self._vectors([question])[0]
        best = np.argsort(-cosines, kind="stable")[:top_k]
        return Answer(ranked([memories[place].turn_id for place in best]), top_score=float(cosines[best[0]]))
