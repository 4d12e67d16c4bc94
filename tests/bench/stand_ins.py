"""Stand-ins for other memory services: the requests and answers their documentation shows, word overlap inside."""

from typing import Annotated, Any, TypeAlias

from fastapi import FastAPI, Header, HTTPException, Response

Key: TypeAlias = Annotated[str | None, Header()]


def overlap(question: str, content: str) -> float:
    asked = set(question.casefold().split())
    return len(asked & set(content.casefold().split())) / len(asked)


def best(question: str, held: list[dict[str, Any]], text: str, most: int) -> list[tuple[float, dict[str, Any]]]:
    scored = [(overlap(question, memory[text]), memory) for memory in held]
    return sorted(scored, key=lambda pair: -pair[0])[:most]


def mem0(key: str) -> FastAPI:
    app = FastAPI()
    held: list[dict[str, Any]] = []

    def check(given: str | None) -> None:
        if given != key:
            raise HTTPException(401, "Invalid API key.")

    @app.post("/memories")
    def add(body: dict[str, Any], x_api_key: Key = None) -> dict[str, Any]:
        check(x_api_key)
        assert body["infer"] is False
        added = [
            {
                "id": str(len(held)),
                "memory": message["content"],
                "user_id": body["user_id"],
                "metadata": body["metadata"],
            }
            for message in body["messages"]
        ]
        held.extend(added)
        return {"results": [{"id": memory["id"], "memory": memory["memory"], "event": "ADD"} for memory in added]}

    @app.post("/search")
    def search(body: dict[str, Any], x_api_key: Key = None) -> dict[str, Any]:
        check(x_api_key)
        mine = [memory for memory in held if memory["user_id"] == body["filters"]["user_id"]]
        found = best(body["query"], mine, "memory", body["top_k"])
        return {"results": [{**memory, "score": score} for score, memory in found if score >= body["threshold"]]}

    return app


def mcp_memory(key: str, *, partitions: bool = True) -> FastAPI:
    app = FastAPI()
    held: list[dict[str, Any]] = []

    def check(given: str | None) -> None:
        if given != f"Bearer {key}":
            raise HTTPException(401, "Invalid API key.")

    @app.post("/api/memories")
    def add(body: dict[str, Any], authorization: Key = None) -> dict[str, Any]:
        check(authorization)
        if any(memory["content"] == body["content"] and memory["store"] == body["store"] for memory in held):
            return {"success": False, "message": "Duplicate content detected", "content_hash": None}
        assert body["conversation_id"]
        held.append({"content": body["content"], "metadata": body["metadata"], "store": body["store"]})
        return {"success": True, "message": "Memory stored successfully", "content_hash": str(len(held))}

    @app.post("/api/search")
    def search(body: dict[str, Any], authorization: Key = None) -> dict[str, Any]:
        check(authorization)
        mine = [memory for memory in held if not partitions or memory["store"] == body["store"]]
        found = best(body["query"], mine, "content", body["n_results"])
        results = [{"memory": memory, "similarity_score": score, "relevance_reason": None} for score, memory in found]
        return {"results": results, "total_found": len(results), "query": body["query"], "search_type": "semantic"}

    return app


def gateway(answers: list[dict[str, Any] | int]) -> FastAPI:
    """Answer recalls with these, one after another: a number is an error's status."""
    app = FastAPI()

    @app.post("/recall", response_model=None)
    def recall(body: dict[str, Any]) -> dict[str, Any] | Response:
        assert body["top_k"]
        answer = answers.pop(0)
        return Response("no", answer, {"Retry-After": "0"}) if isinstance(answer, int) else answer

    return app
