"""The program for openapi-python-client."""

import json
import os
from datetime import UTC, datetime
from io import BytesIO

from generated_client import AuthenticatedClient
from generated_client.api.context import assemble_context
from generated_client.api.data import list_memories
from generated_client.api.episodes import append_episode, start_run
from generated_client.api.facts import learn
from generated_client.api.memory import recall, store
from generated_client.api.transfer import export, import_
from generated_client.api.working_memory import get_working, set_working
from generated_client.models import (
    AppendEpisodesRequest,
    AssembleRequest,
    EpisodeRequest,
    EpisodeRequestData,
    LearnFactRequest,
    Problem,
    RecallRequest,
    StartRunRequest,
    StoreRequest,
    StoreRequestMetadata,
    WorkingRequest,
)
from generated_client.types import File

given = json.loads(os.environ["GIVEN"])
client = AuthenticatedClient(base_url=os.environ["URL"], token=os.environ["TOKEN"], raise_on_unexpected_status=True)

metadata = StoreRequestMetadata.from_dict(given["metadata"])
stored = store.sync(client=client, body=StoreRequest(agent_id="bot", content="a red fox", metadata=metadata))
recalled = recall.sync(client=client, body=RecallRequest(agent_id="bot", query="fox"))
listed = list_memories.sync(client=client, agent_id="bot")
report = import_.sync(client=client, body=File(payload=BytesIO(given["lines"].encode())))
exported = export.sync(client=client)
run = start_run.sync(client=client, body=StartRunRequest("bot", "support", given["metadata"]))
episode = EpisodeRequest("answer", "a white owl", data=EpisodeRequestData.from_dict(given["data"]))
appended = append_episode.sync(run.run_id, client=client, body=AppendEpisodesRequest([episode]))
set_working.sync("bot", "one", "plan", client=client, body=WorkingRequest(given["metadata"]))
working = get_working.sync("bot", "one", "plan", client=client)
fact = learn.sync(client=client, body=LearnFactRequest("the owl", "is", "white", agent_id="bot"))
assembled = assemble_context.sync(client=client, body=AssembleRequest("bot", agent_type="support"))
past = datetime(2026, 1, 2, tzinfo=UTC)
refused = store.sync_detailed(client=client, body=StoreRequest(agent_id="bot", content="a bear", expires_at=past))

problem = refused.parsed
assert isinstance(problem, Problem)
answers = {
    "stored": stored.stored,
    "recalled": [entry.metadata.to_dict() for entry in recalled.entries],
    "listed": [memory.metadata.to_dict() for memory in listed.memories],
    "report": report.payload.read().decode(),
    "exported": exported.payload.read().decode(),
    "tiers": [run.input_, appended.written, working.value, fact.holds],
    "assembled": [piece.content for piece in assembled.pieces if piece.part == "episodes"],
    "refused": [refused.status_code, problem.code, [error.field for error in problem.errors]],
}
print(json.dumps(answers))  # noqa: T201 - the test reads it
