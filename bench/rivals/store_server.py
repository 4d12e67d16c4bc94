"""LangGraph's ``SqliteStore`` behind two routes of FastAPI, for it is a library: run by the rivals' own Python.

``python store_server.py PORT EMBEDDINGS_URL FILE``. Routes run on FastAPI's threads, for the store blocks.
"""

import sqlite3
import sys
from uuid import uuid4

import httpx
import uvicorn
from fastapi import FastAPI
from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]
from pydantic import BaseModel

_NAMESPACE = ("memories", "assistant")


class Memory(BaseModel):
    """A memory to store."""

    content: str


class Question(BaseModel):
    """A question to recall with."""

    query: str


def serve(port: int, embeddings_url: str, file: str) -> None:
    """Serve until told to stop."""
    client = httpx.Client()

    def embed(texts: list[str]) -> list[list[float]]:
        answer = client.post(embeddings_url, json={"model": "stub", "input": texts}).raise_for_status()
        return [each["embedding"] for each in answer.json()["data"]]

    connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection, index={"dims": 384, "embed": embed, "fields": ["content"]})
    store.setup()
    app = FastAPI()

    @app.post("/store")
    def put(memory: Memory) -> dict[str, str]:
        key = str(uuid4())
        store.put(_NAMESPACE, key, {"content": memory.content})
        return {"key": key}

    @app.post("/recall")
    def recall(question: Question) -> dict[str, list[dict[str, object]]]:
        entries = store.search(_NAMESPACE, query=question.query, limit=5)
        return {"entries": [{"content": entry.value["content"], "score": entry.score} for entry in entries]}

    uvicorn.run(app, host="127.0.0.1", port=port, http="httptools", log_config=None, access_log=False)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], sys.argv[3])
