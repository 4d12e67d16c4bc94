"""The floor: what FastAPI and uvicorn cost alone. Takes the service's requests and does nothing with them."""

import sys

import uvicorn
from fastapi import FastAPI

from app.interfaces.http.schemas.recall import RecallRequest
from app.interfaces.http.schemas.store import StoreAnswer, StoreRequest
from bench.client import HOST

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


@app.post("/store")
async def store(_: StoreRequest) -> StoreAnswer:
    """Parse a memory to store."""
    return StoreAnswer()


@app.post("/recall")
async def recall(_: RecallRequest) -> StoreAnswer:
    """Parse a question."""
    return StoreAnswer()


if __name__ == "__main__":
    uvicorn.run(app, host=HOST, port=int(sys.argv[1]), http="httptools", log_config=None, access_log=False)
