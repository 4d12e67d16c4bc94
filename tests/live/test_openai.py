"""What the embedder assumes of OpenAI: LIVE_OPENAI_API_KEY, and LIVE_OPENAI_BASE_URL for a proxy."""

import os

import numpy as np
import pytest

from app.adapters.openai.embedder import BASE_URL, OpenAIEmbedder
from app.observability.metrics import Metrics

pytestmark = pytest.mark.live


async def test_texts_come_back_in_order_with_unit_length_and_their_tokens_counted() -> None:
    embedder = OpenAIEmbedder(
        api_key=os.environ["LIVE_OPENAI_API_KEY"],
        base_url=os.environ.get("LIVE_OPENAI_BASE_URL", BASE_URL),
        metrics=Metrics(),
        dimensions=256,
    )
    texts = ["invoices in Swedish", "a bear in the north", "word " * 4000]
    try:
        embedded = await embedder.embed(texts, "document")
        backwards = await embedder.embed(texts[::-1], "document")
    finally:
        await embedder.close()
    assert embedded.tokens
    np.testing.assert_allclose(embedded.vectors, backwards.vectors[::-1], atol=1e-3)
    assert all(abs(float(np.linalg.norm(vector)) - 1) < 1e-5 for vector in embedded.vectors)
