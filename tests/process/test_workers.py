"""One server of several processes: what one has written the others know at once, and none is missed when it dies."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import psutil
import pytest

from app.adapters.cloudflare.call_budget import UNLEASED
from app.bootstrap import worker_count
from app.settings import Settings
from tests.process.account import rehearsed
from tests.process.agents import Agents
from tests.process.conftest import Start
from tests.process.history import History
from tests.process.memories import Memory, forgotten, halves, made, recall, rows_of, store
from tests.process.server import Server, credential, environment, run, until

pytestmark = pytest.mark.thorough

WORKERS = 2
OPERATIONS = int(os.environ.get("SOAK_OPERATIONS", "120"))
SEED = int(os.environ.get("SOAK_SEED", "20"))
KILLS = 4 if "SOAK_OPERATIONS" in os.environ else 1
_CONNECTIONS = 200
_SERVE = [sys.executable, "-P", "-c", "from app.interfaces.cli import main; main()", "serve"]


@pytest.fixture
async def server(start: Start) -> Server:
    server = await start(WORKERS=str(WORKERS))
    await all_listen(server)
    return server


async def all_listen(server: Server) -> None:
    async def every_worker_listens() -> bool:
        return server.log.read_text().count('"Application startup complete."') == WORKERS

    await until(every_worker_listens)


def workers(server: Server) -> list[psutil.Process]:
    return psutil.Process(server.process.pid).children()


async def client_of(server: Server, worker: psutil.Process, stack: AsyncExitStack) -> httpx.AsyncClient:
    """Return a client whose one connection a worker has taken."""
    limits = httpx.Limits(max_connections=1)
    for _ in range(_CONNECTIONS):
        client = server.client()
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=server.url, headers=client.headers, timeout=20.0, limits=limits, trust_env=False)
        )
        answer = await client.get("/healthz")
        own = answer.extensions["network_stream"].get_extra_info("client_addr")
        if own[1] in [port for each in worker.net_connections("tcp") for port in each.raddr[1:]]:
            return client
    raise AssertionError(f"the worker {worker.pid} took none of {_CONNECTIONS} connections")


async def test_it_says_once_where_it_listens_and_each_line_which_worker_wrote_it(start: Start, tmp_path: Path) -> None:
    settings = tmp_path / "settings.env"
    settings.write_text("EMBEDDER=hashing\nREADER=none\n")
    server = await start(WORKERS=str(WORKERS), ENV_FILE=str(settings))
    await all_listen(server)
    told = server.log.read_text().splitlines()
    assert told.count(f"Listening on {server.url} with {WORKERS} workers.") == 1
    assert [line for line in told if str(settings) in line] == [f"Settings are read from {settings}."]
    ready = [json.loads(line) for line in told if '"Application startup complete."' in line]
    assert {event["pid"] for event in ready} == {worker.pid for worker in workers(server)}


@pytest.fixture
async def pair(server: Server) -> AsyncIterator[list[httpx.AsyncClient]]:
    async with AsyncExitStack() as stack:
        yield [await client_of(server, worker, stack) for worker in workers(server)]


async def test_what_one_worker_has_done_the_others_know_at_once(pair: list[httpx.AsyncClient], data_dir: Path) -> None:
    for number in range(8):
        here, there = pair[number % 2], pair[1 - number % 2]
        memory = made("shared", number)
        assert (await store(here, memory)).status_code == 201
        assert await forgotten(there, [memory]) == []
        for content in (f"first of {number}", f"second of {number}"):
            assert (await here.put("/context/style", json={"content": content})).status_code == 200
            assert (await there.get("/context/style")).json()["content"] == content
        (entry,) = await recall(here, memory)
        assert (await there.delete(f"/memories/{entry['id']}?agent_id={memory.agent_id}")).status_code == 204
        assert await forgotten(here, [memory]) == await forgotten(there, [memory]) == [memory]
    assert halves(data_dir) == {}
    await one_erases(*pair)
    await all_refuse_the_revoked(pair, data_dir)
    await all_are_counted(pair)


async def one_erases(here: httpx.AsyncClient, there: httpx.AsyncClient) -> None:
    """Check that what one worker has erased the other does not return."""
    memories = [Memory("gone", f"secret {number} of many") for number in range(5)]
    for memory in memories:
        assert (await store(there, memory)).status_code == 201
    assert await forgotten(there, memories) == []
    operation = (await here.delete("/agents/gone")).json()["id"]

    async def erased() -> bool:
        status: str = (await here.get(f"/operations/{operation}")).json()["status"]
        return status == "done"

    await until(erased)
    for memory in memories:
        assert await recall(there, memory) == []


async def all_refuse_the_revoked(pair: list[httpx.AsyncClient], data_dir: Path) -> None:
    """Check that a credential holds with no worker from the moment in which it was revoked."""
    token = credential(agent_id="agent-0")
    headers = {"Authorization": f"Bearer {token}"}
    asked = {"agent_id": "agent-0", "query": "what was said?"}
    for client in pair:
        assert (await client.post("/recall", json=asked, headers=headers)).status_code == 200
    assert run(data_dir, "token", "revoke", token, "--tenant", "test").returncode == 0
    for client in pair:
        assert (await client.post("/recall", json=asked, headers=headers)).status_code == 401


async def all_are_counted(pair: list[httpx.AsyncClient]) -> None:
    """Check that every worker tells what all have counted, and which of them runs the indexer."""

    async def counted(client: httpx.AsyncClient) -> float:
        lines = (await client.get("/metrics")).text.splitlines()
        assert len([line for line in lines if line.startswith("memory_gateway_indexer_lease{")]) == 1
        (recalls,) = [line for line in lines if line.startswith('memory_gateway_recalls_total{through="http"}')]
        return float(recalls.rpartition(" ")[2])

    before = await counted(pair[0])
    for client, recalls in zip(pair, (3, 4), strict=True):
        for number in range(recalls):
            await recall(client, made("counted", number))

    async def all_tell_of_seven() -> bool:
        return [await counted(client) - before for client in pair] == [7, 7]

    await until(all_tell_of_seven)  # a worker may tell what it told a second ago


async def test_the_calls_left_are_those_of_the_worker_with_the_fewest(start: Start) -> None:
    with rehearsed(SEED) as account:
        given = account.settings | {"CLOUDFLARE_CALLS_PER_WINDOW": "1100"}
        server = await start(log=None, WORKERS=str(WORKERS), **given)
        await all_listen(server)
        async with server.client() as one_worker_asked:

            async def every_worker_has_told_of_its_share() -> bool:
                lines = (await one_worker_asked.get("/metrics")).text.splitlines()
                told = [line.split(" ") for line in lines if line.startswith("memory_gateway_cloudflare_calls_left")]
                assert [name for name, _ in told] == ["memory_gateway_cloudflare_calls_left"]
                return all(UNLEASED < float(left) <= 1100 for _, left in told)

            await until(every_worker_has_told_of_its_share)


async def test_a_stop_reaches_every_worker(server: Server, data_dir: Path) -> None:
    family = workers(server)
    async with server.client() as client:
        assert (await store(client, made("kept", 1))).status_code == 201
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
    assert not any(each.is_running() for each in family)
    assert "Traceback" not in server.log.read_text()
    assert rows_of(data_dir, "lease") == []


async def test_clients_that_keep_their_connections_are_spread_over_all_workers(server: Server) -> None:
    # A worker that is held up for 5 ms gets fewer, which on a busy machine is so now and then.
    assert max([min(await _taken(server)) for _ in range(5)]) >= 6


async def _taken(server: Server) -> list[int]:
    """Return how many of 16 connections each worker has taken."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(server.client()) for _ in range(16)]
        answers = await asyncio.gather(*(client.get("/healthz") for client in clients))
        ports = {each.extensions["network_stream"].get_extra_info("client_addr")[1] for each in answers}
        assert len(ports) == 16
        taken = [
            len([each for each in worker.net_connections("tcp") if ports & set(each.raddr[1:])])
            for worker in workers(server)
        ]
        assert sum(taken) == 16
        return taken


async def test_while_a_worker_stands_still_the_other_answers_whoever_connects(server: Server) -> None:
    still, _ = workers(server)
    still.suspend()
    try:
        for number in range(20):
            async with server.client() as client:
                assert (await store(client, made("going", number))).status_code == 201
    finally:
        still.resume()


async def test_rates_hold_for_all_workers_together(start: Start) -> None:
    server = await start(WORKERS=str(WORKERS), AGENT_RECALLS_PER_MINUTE="20", CREDENTIAL_REQUESTS_PER_MINUTE="1000")
    await all_listen(server)
    async with AsyncExitStack() as stack:
        pair = [await client_of(server, worker, stack) for worker in workers(server)]
        asked = {"agent_id": "agent-0", "query": "what was said?"}
        minute = time.time() // 60
        answers = [(await pair[number % 2].post("/recall", json=asked)).status_code for number in range(40)]
        admitted = answers.count(200)
        assert answers.count(429) == 40 - admitted
        assert admitted == 20 or (minute != time.time() // 60 and 20 < admitted <= 40)


async def test_the_memory_of_two_workers_is_at_most_one_and_a_half_times_that_of_one(tmp_path: Path) -> None:
    async def held(number: int) -> tuple[float, float]:
        """Return the proportional and the resident bytes of a server's processes at rest."""
        log, folder = tmp_path / f"{number}.log", tmp_path / f"of-{number}"
        settings = environment(folder, WORKERS=str(number), EMBEDDER="auto", READER="auto")
        with log.open("wb") as output:  # no fork of a process of the tests, with which it would share memory
            process = subprocess.Popen(_SERVE, env=settings, cwd=tmp_path, stdout=output, stderr=output)  # noqa: ASYNC220
        server = Server(folder, process, log)
        try:
            await server.ready(60)
            if number > 1:
                await all_listen(server)
            async with server.client() as client:
                for each in range(10):
                    assert (await store(client, made("kept", each))).status_code == 201
            family = [psutil.Process(process.pid), *workers(server)]
            sizes = [each.memory_full_info() for each in family]
        finally:
            process.terminate()
            process.wait(20)
        return sum(size.pss for size in sizes), sum(size.rss for size in sizes)

    _, of_one = await held(1)
    of_two, _ = await held(2)
    assert of_two <= 1.5 * of_one


async def test_without_a_number_there_are_as_many_workers_as_the_machine_allows(start: Start) -> None:
    count = worker_count(Settings(embedder="hashing", reader="none"))
    server = await start(WORKERS="auto")
    if count == 1:
        assert workers(server) == []
        return

    async def all_are_there() -> bool:
        return len(workers(server)) == count

    await until(all_are_there)


async def test_workers_end_with_the_process_that_started_them(server: Server) -> None:
    family = workers(server)
    server.kill()

    async def ended() -> bool:
        return not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in family)

    await until(ended)


def test_what_keeps_one_worker_from_starting_is_said_once(data_dir: Path) -> None:
    data_dir.write_text("not a directory")
    ended = run(data_dir, "serve", "--workers", "3", AUTH_SECRETS="")
    assert ended.returncode == 1
    (_, line) = ended.stderr.splitlines()
    assert line.startswith("Error: ")


class Family:
    """The workers of one server, which die at random and are replaced."""

    def __init__(self, server: Server, client: httpx.AsyncClient) -> None:
        self.kills = 0
        self.over = False
        self._server = server
        self._client = client

    def choose(self, dice: random.Random) -> tuple[str, httpx.AsyncClient]:
        """Return the one server; its connections are of all workers."""
        del dice
        return "server", self._client

    async def trouble(self, dice: random.Random) -> None:
        """Kill a worker now and then, while all of them are there."""
        while not self.over:
            await asyncio.sleep(dice.uniform(0.1, 0.6))
            if len(family := workers(self._server)) == WORKERS:
                dice.choice(family).kill()
                self.kills += 1


async def test_workers_that_die_are_replaced_and_no_answer_is_ever_wrong(server: Server, data_dir: Path) -> None:
    history = History()
    async with server.client() as client:
        family = Family(server, client)
        agents = Agents(family, history, SEED)
        async with asyncio.TaskGroup() as group:
            group.create_task(family.trouble(random.Random(SEED)))
            await agents.run(operations=OPERATIONS, kills=KILLS)
            family.over = True
        assert "ConnectError" not in agents.unanswered  # what connects while a worker dies waits for the next one
        assert not history.violations, "\n".join([f"seed {SEED}", *history.violations])
        assert halves(data_dir) == {}, f"seed {SEED}"
        held = rows_of(data_dir, "long_term_memory", "id", "agent_id", "content")
        history.held({str(id_): Memory(agent, content) for id_, agent, content in held})
        assert not history.violations, "\n".join([f"seed {SEED}, in the end:", *history.violations])
    assert "Traceback" not in server.log.read_text()

    async def whole() -> bool:
        return len(workers(server)) == WORKERS

    await until(whole)
