"""An embedder that takes no time worth telling: n-grams, by OpenAI's API. ``python -m bench.rivals.stub PORT``."""

import base64
import sys

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.adapters.local.hashing import HashingEmbedder
from bench.client import HOST

MODEL = "stub"
DIMENSIONS = 384
_EMBEDDER = HashingEmbedder()


async def _embeddings(request: Request) -> Response:
    body = orjson.loads(await request.body())
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = (await _EMBEDDER.embed(texts, "document")).vectors
    encoded = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode() if encoded else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    told = {"object": "list", "data": data, "model": body["model"], "usage": usage}
    return Response(orjson.dumps(told), media_type="application/json")


if __name__ == "__main__":
    app = Starlette(routes=[Route("/v1/embeddings", _embeddings, methods=["POST"])])
    uvicorn.run(app, host=HOST, port=int(sys.argv[1]), http="httptools", log_config=None, access_log=False)
