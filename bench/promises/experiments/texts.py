"""What texts that are made to cost much take of the processor."""

import asyncio
import tempfile
from pathlib import Path

from bench.client import post_json
from bench.data import AUTH_SECRETS, credential, one_agent
from bench.promises.checkout import Checkout
from bench.promises.measurement import Measurement

_BLANKS, _MEMORIES = 2_990, 20
_RECALL = f"recall of 8 bytes, with {_MEMORIES} memories of a number and {_BLANKS:,} blanks"
_FENCED = "a fence, 2,500 line ends and a letter"
_TABLE = "grounding of 85 proposals of a pasted table of 130 kB"
_MS = """
import time
began = time.process_time()
work()
print((time.process_time() - began) * 1000)
"""
_ANSWER = """
from app.adapters.model_answers import read_answer
def work():
    try:
        read_answer("```" + "\\n" * 2500 + "x")
    except ValueError:
        pass
"""

_GROUNDING = """
import asyncio, re
from app.domain.messages import Message
from app.services.ingest.extract import extracted, groups_of
from app.services.learning.passes import plan
ROWS = (f"{n},customer{n},Street {n % 97},Oslo,2026-03-1{n % 9},{n * 37 % 1000}.50" for n in range(1, 3400))
TEXT = "\\n".join(ROWS)[:130_000]
MESSAGES = {str(at): Message(str(at), "s", "user", TEXT[at : at + 32_000], at) for at in range(0, len(TEXT), 32_000)}
class Model:
    async def ask(self, make):
        request = make("mark")
        read = request.messages[-1].content
        (*_, line) = re.findall(r"^\\[(\\d+)\\]", read, re.M)
        rows = re.findall(r"customer(\\d+),(Street \\d+)", read)[-5:]
        memories = [{"statement": f"Customer{n} lives at {s}.", "lines": [int(line)], "day": ""} for n, s in rows]
        return request.schema.read({"memories": memories})
async def read():
    passes = plan([(id_, len(each.content)) for id_, each in MESSAGES.items()])
    for each in passes:
        said = {id_: MESSAGES[id_] for id_ in each.message_ids}
        await extracted(Model(), each, said, groups_of(passes))
def work():
    asyncio.run(read())
"""


async def measure(checkout: Checkout) -> list[Measurement]:
    """Measure what each costs, in CPU milliseconds."""
    return [
        Measurement(_RECALL, "CPU ms", await _recall(checkout), "at most 50"),
        Measurement(f"answer of a model: {_FENCED}", "CPU ms", await _cost(checkout, _ANSWER), "below 1"),
        Measurement(_TABLE, "CPU ms", await _cost(checkout, _GROUNDING), "at most 1,500"),
    ]


async def _recall(checkout: Checkout) -> float:
    (scope,) = one_agent()
    headers = credential(scope)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"DATA_DIR": folder, "EMBEDDER": "hashing", "AUTH_SECRETS": AUTH_SECRETS}
        async with checkout.serve(Path(folder), settings) as server:
            contents = (f"server 2{' ' * _BLANKS}{number}" for number in range(_MEMORIES))
            stores = [
                post_json("/store", {"agent_id": scope.agent_id, "content": content}, headers) for content in contents
            ]
            await server.cost(stores)
            return await server.cost([post_json("/recall", {"agent_id": scope.agent_id, "query": "server 2"}, headers)])


async def _cost(checkout: Checkout, code: str) -> float:
    """Return the CPU milliseconds of ``work`` that code of a checkout defines."""
    process = await asyncio.create_subprocess_exec(
        checkout.python, "-c", code + _MS, cwd=checkout.root, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return float(printed)
