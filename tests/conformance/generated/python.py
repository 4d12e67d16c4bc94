"""The program for the generator ``python`` of openapi-generator."""

import json
import os
from datetime import UTC, datetime

import openapi_client
from openapi_client import (
    AppendEpisodesRequest,
    AssembleRequest,
    ContextApi,
    DataApi,
    EpisodeRequest,
    EpisodesApi,
    FactsApi,
    LearnFactRequest,
    MemoryApi,
    RecallRequest,
    StartRunRequest,
    StoreRequest,
    TransferApi,
    WorkingMemoryApi,
    WorkingRequest,
)

given = json.loads(os.environ["GIVEN"])
configuration = openapi_client.Configuration(host=os.environ["URL"], access_token=os.environ["TOKEN"])
client = openapi_client.ApiClient(configuration)
memory, data, transfer = MemoryApi(client), DataApi(client), TransferApi(client)
runs, keys = EpisodesApi(client), WorkingMemoryApi(client)

stored = memory.store(StoreRequest(agent_id="bot", content="a red fox", metadata=given["metadata"]))
recalled = memory.recall(RecallRequest(agent_id="bot", query="fox"))
listed = data.list_memories(agent_id="bot", metadata={"text": "ä"})
report = transfer.call_import(given["lines"].encode())
exported = transfer.export()
run = runs.start_run(StartRunRequest(agent_id="bot", agent_type="support", input=given["metadata"]))
episode = EpisodeRequest(type="answer", content="a white owl", data=given["data"])
appended = runs.append_episode(run.run_id, AppendEpisodesRequest(episodes=[episode]))
keys.set_working("bot", "one", "plan", WorkingRequest(value=given["metadata"]))
working = keys.get_working("bot", "one", "plan")
fact = FactsApi(client).learn(LearnFactRequest(agent_id="bot", subject="the owl", predicate="is", object="white"))
assembled = ContextApi(client).assemble_context(AssembleRequest(agent_id="bot", agent_type="support"))
past = datetime(2026, 1, 2, tzinfo=UTC)
try:
    memory.store(StoreRequest(agent_id="bot", content="a bear", expires_at=past))
except openapi_client.ApiException as error:
    refused = [error.status, error.data.code, [each.var_field for each in error.data.errors]]

answers = {
    "stored": stored.stored,
    "recalled": [entry.metadata for entry in recalled.entries],
    "listed": [each.metadata for each in listed.memories],
    "report": report.decode(),
    "exported": exported.decode(),
    "tiers": [run.input, appended.written, working.value, fact.holds],
    "assembled": [piece.content for piece in assembled.pieces if piece.part == "episodes"],
    "refused": refused,
}
print(json.dumps(answers))  # noqa: T201 - the test reads it
