"""The command line, run as its user runs it."""

import json
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import jwt
import pytest

from app.bootstrap import DATABASE_FILE
from app.interfaces.text import visible
from app.ports.database import Database
from app.storage.migrations.runner import known_migrations
from app.storage.tiers.tables import TIER_TABLES
from tests.interfaces.cli.line import Line, misused
from tests.support.damage import lose_index, refuse_vectors
from tests.support.memories import expire
from tests.support.tables import Not, at_rest, delete_rows, set_rows

ULID = "01K2Z7C3P5S8V1Y4B7E0H3M6RT"
SECRET = "a-secret-of-the-tests-long-enough-to-sign"


def test_what_one_command_stores_the_next_recalls(line: Line) -> None:
    stored = line.json("store", "The customer prefers invoices in Swedish", "--metadata", '{"k": [1]}')
    assert stored["stored"] is True
    line.ok("store", "-", "--session", "s", "--occurred-at", "2026-01-01T00:00:00Z", stdin="from standard input\n")
    found = line.json("recall", "invoices in Swedish", "--top-k", "1")
    (entry,) = found["entries"]
    assert (entry["id"], entry["metadata"]) == (stored["id"], {"k": [1]})
    assert "from standard input" in line.ok("recall", "standard input")
    assert line.ok("recall", "anything", "--agent", "other") == "nothing found\n"
    assert line.ok("recall", "anything", "--tenant", "other") == "nothing found\n"
    assert line.json("recall", "invoices", "--filter", '{"metadata": {"k": 1}}')["entries"] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("store", "text"),
        ("list",),
        ("agents",),
        ("usage",),
        ("token",),
        ("doctor",),
        ("export",),
        ("outbox", "list"),
    ],
)
def test_a_command_names_the_folder_that_it_uses(line: Line, arguments: tuple[str, ...]) -> None:
    assert line.run(*arguments).place == str(line.folder / "data")


def test_a_command_on_cloudflare_names_the_account(line: Line) -> None:
    account = {"CLOUDFLARE_ACCOUNT_ID": "0" * 32, "CLOUDFLARE_API_BASE_URL": "http://127.0.0.1:9"}
    assert line.run("list", **account).place == f"Cloudflare account {'0' * 32}"


def test_migrating_twice_applies_once(new_line: Line) -> None:
    assert new_line.json("migrate") == {"applied": ["schema.sql"]}
    assert new_line.ok("migrate") == "nothing to apply\n"


def test_a_minted_credential_says_what_was_asked(line: Line) -> None:

    token = line.json("token", "--tenant", "acme", "--agent", "bot", "--admin", "--expires", "30d")["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert {name: claims[name] for name in ("tenant", "agent", "scope")} == {
        "tenant": "acme",
        "agent": "bot",
        "scope": "memory admin",
    }
    assert claims["exp"] - claims["iat"] == 30 * 86400
    plain = jwt.decode(line.ok("token", "--tenant", "acme").strip(), options={"verify_signature": False})
    assert set(plain) == {"iss", "aud", "jti", "iat", "exp", "tenant", "scope"}
    assert plain["exp"] - plain["iat"] == 90 * 86400
    lasting = line.ok("token", "--tenant", "acme", "--for-ever", "--speaker", "Ann").strip()
    claims = jwt.decode(lasting, options={"verify_signature": False})
    assert "exp" not in claims
    assert claims["speakers"] == ["Ann"]


@pytest.mark.parametrize(
    ("options", "claim"),
    [
        ([], "memory"),
        (["--scope", "read"], "memory:read"),
        (["--scope", "write"], "memory:write"),
        (["--scope", "write", "--scope", "read"], "memory"),
        (["--scope", "admin"], "memory admin"),
        (["--admin", "--scope", "read"], "memory admin"),
    ],
)
def test_a_credential_is_minted_for_what_is_asked(line: Line, options: list[str], claim: str) -> None:
    claims = jwt.decode(line.json("token", *options)["token"], options={"verify_signature": False})
    assert claims["scope"] == claim


def test_what_a_credential_has_written_is_counted_and_then_undone(line: Line) -> None:
    line.ok("store", "kept", "--tenant", "acme", "--agent", "bot")
    minted = line.json("token", "--tenant", "acme")
    counted = line.json("token", "undo", minted["token"], "--tenant", "acme")
    assert counted == {"id": minted["id"], "memories": 0, "changed": 0, "outcomes": 0}
    assert line.json("token", "undo", minted["id"], "--tenant", "acme", "--yes") == counted
    assert line.json("recall", "kept", "--tenant", "acme", "--agent", "bot")["entries"]


@pytest.mark.parametrize("by", ["id", "credential"])
def test_a_credential_is_revoked_by_its_id_or_itself(line: Line, by: str) -> None:
    minted = line.json("token", "--tenant", "acme")
    given = minted["id"] if by == "id" else minted["token"]
    told = line.json("token", "revoke", given, "--tenant", "acme")
    assert told == {"revoked": {"tenant": "acme", "id": minted["id"]}}
    said = line.ok("token", "revoke", given, "--tenant", "acme")
    assert said == "Revoked. Within 30 seconds every replica refuses it.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense of no form"],
        [],
        ["01K5ZT3V0W8Q2N4R6S8T0V2X4Y", "--issued-before", "2026-01-01T00:00:00Z"],
        ["--issued-before", "yesterday"],
    ],
)
def test_what_is_no_credential_is_not_revoked(line: Line, arguments: list[str]) -> None:
    done = line.run("token", "revoke", *arguments, "--tenant", "acme")
    assert (done.returncode, done.stdout) == (2, "")


def test_another_tenants_credential_is_not_revoked_by_mistake(line: Line) -> None:
    token = line.ok("token", "--tenant", "acme").strip()
    assert line.run("token", "revoke", token, "--tenant", "globex").returncode == 2


def test_a_credential_is_minted_for_the_tenant_that_all_commands_have_by_default(line: Line) -> None:
    claims = jwt.decode(line.ok("token").strip(), options={"verify_signature": False})
    assert claims["tenant"] == "default"
    assert line.run("token", "--expires", "1d", "--for-ever").returncode == 2


def test_the_data_directorys_secret_is_made_once_for_its_owner_only(new_line: Line) -> None:
    new_line.ok("token", "--tenant", "acme")
    secret = new_line.folder / "data" / "auth-secret"
    made = secret.read_text(encoding="ascii")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    new_line.ok("token", "--tenant", "acme")
    assert secret.read_text(encoding="ascii") == made
    assert len(made) >= 32
    assert [path.name for path in secret.parent.iterdir()] == ["auth-secret"]


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"\xff" * 64])
def test_a_secret_that_is_not_ours_is_refused_in_one_line(new_line: Line, content: bytes) -> None:
    (new_line.folder / "data").mkdir()
    (new_line.folder / "data" / "auth-secret").write_bytes(content)
    says = new_line.fails("token", "--tenant", "acme")
    assert says.startswith("Error: The secret ")
    assert len(says.splitlines()) == 1


def test_the_doctor_finds_nothing_wrong_and_leaves_nothing_behind(line: Line) -> None:
    checks = line.json("doctor")["checks"]
    assert [check["name"] for check in checks if not check["ok"]] == []
    assert "store, recall, delete" in [check["name"] for check in checks]
    assert line.json("recall", "doctor", "--tenant", "memory-gateway.doctor", "--agent", "doctor")["entries"] == []


def test_the_doctor_names_the_data_folder_and_the_model(line: Line) -> None:
    checks = {check["name"]: check for check in line.json("doctor", EMBEDDER="local")["checks"]}
    assert checks["data folder"]["finding"] == str((line.folder / "data").resolve())
    assert checks["embedder"]["finding"] == "local/all-minilm-l6-v2 (384 dimensions)"
    assert not any(check["warning"] for check in checks.values())


def test_the_doctor_warns_of_an_embedder_without_meaning(line: Line) -> None:
    told = line.ok("doctor")
    assert "\nwarn  embedder: hashing/ngrams-v1 (384 dimensions). This embedder compares letters" in told
    assert "has no meaning" in told
    assert [check["name"] for check in line.json("doctor")["checks"] if check["warning"]] == ["embedder"]


def test_a_migration_that_is_half_applied_is_told_with_what_helps(new_line: Line) -> None:
    new_line.ok("migrate")
    half = max(each.name for each in known_migrations() if len(each.statements) > 1)
    for name in (each.name for each in known_migrations() if each.name >= half):
        behind(new_line, partial(delete_rows, table="d1_migrations", name=name))
    told = new_line.fails("migrate")
    assert f"The migration {half} does not fit the database" in told
    assert "Migrating again does not help." in told
    assert "Time Travel" in told
    assert "a copy of DATA_DIR" in told
    assert told.count("\n") == 1
    for other in (new_line.run("doctor").stdout, new_line.fails("store", "text")):  # they do not migrate
        assert f"({half}" in other
        assert "memory-gateway migrate" in other


def test_the_doctor_advises_on_what_fails(line: Line, tmp_path: Path) -> None:
    line.ok("store", "text")
    assert "memory-gateway reembed start" in line.run("doctor", EMBEDDER="local").stdout
    needs_a_key(line)
    done = line.run("doctor")
    assert done.returncode == 1
    assert "FAIL  data: The data was embedded with openai/text-embedding-3-small" in done.stdout
    assert "Start with the embedder the data was made with" in done.stdout
    file = tmp_path / "file"
    file.write_text("", encoding="ascii")
    assert "FAIL  settings: " in line.run("doctor", DATA_DIR=str(file)).stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("store", " "), "Error: content must not be blank."),
        (("store", "x" * 32769), "Error: content has 32769 bytes"),
    ],
)
def test_a_text_over_the_limits_is_refused_in_one_line(line: Line, arguments: tuple[str, ...], says: str) -> None:
    assert line.fails(*arguments).startswith(says)


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "--tenant", "a b"),
        ("token", "--tenant", "acme", "--expires", "soon"),
        ("store", "text", "--metadata", "[]"),
        ("store", "text", "--metadata", "{"),
        ("store", "text", "--occurred-at", "yesterday"),
        ("recall",),
        ("serve", "--port", "99999"),
        ("unknown",),
    ],
)
def test_a_mistake_on_the_line_is_told_with_the_usage(arguments: tuple[str, ...]) -> None:
    assert misused(*arguments).startswith("Usage: memory-gateway")


@pytest.mark.parametrize("command", ["serve", "migrate", "doctor", "store"])
def test_a_setting_that_cannot_be_used_is_told_in_one_line(line: Line, command: str) -> None:
    arguments = (command, "text") if command == "store" else (command,)
    assert line.fails(*arguments, AUTH_SECRETS="k=short").startswith("Error: AUTH_SECRETS: ")
    if command in {"serve", "store"}:
        says = line.fails(*arguments, LOCAL_MODEL_DIR="/nowhere", EMBEDDER="local")
        assert says.startswith("Error: ")
        assert len(says.splitlines()) == 1


def test_a_settings_file_that_is_not_there_is_told_in_one_line(line: Line) -> None:
    says = line.fails("token", "--tenant", "acme", ENV_FILE="nowhere.env")
    assert says == "Error: ENV_FILE: nowhere.env is no file.\n"


# As if the data had been embedded with a model that wants a key.
def needs_a_key(line: Line) -> None:
    """Have the data be embedded with a model that is asked for with a key."""
    model = {"provider": "openai", "model": "text-embedding-3-small", "dimensions": 1536}
    for table in ("embedding_in_use", "embedding_config"):
        values = model | {"index_name": "lt-memory-openai-text-embedding-3-small"}
        behind(line, partial(set_rows, table=table, values=values))


def test_data_that_cannot_be_embedded_with_is_told_in_one_line(line: Line) -> None:
    line.ok("store", "text")
    needs_a_key(line)
    assert "Error: The data was embedded with openai/text-embedding-3-small" in line.fails("recall", "text")


def test_data_of_another_model_is_served_and_the_log_says_what_to_run(line: Line) -> None:
    line.ok("store", "text")
    done = line.run("recall", "text", "--json", EMBEDDER="local")
    assert [entry["content"] for entry in json.loads(done.stdout)["entries"]] == ["text"]
    assert "memory-gateway reembed start" in done.stderr


def test_a_configured_secret_signs_and_no_file_is_made(new_line: Line) -> None:

    token = new_line.ok("token", "--tenant", "acme", AUTH_SECRETS=f"k={SECRET}").strip()
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "kid": "k", "typ": "memory-gateway+jwt"}
    assert jwt.decode(token, SECRET, algorithms=["HS256"], audience="memory-gateway")["tenant"] == "acme"
    assert not (new_line.folder / "data").exists()


def behind(line: Line, work: Callable[[Database], Awaitable[object]]) -> None:
    """Change the file behind everybody's back."""
    at_rest(Path(line.environment["DATA_DIR"]) / DATABASE_FILE, work)


def test_reconcile_reports_and_on_request_repairs_what_the_index_lacks(line: Line) -> None:
    first = line.json("store", "first")["id"]
    line.ok("store", "second")
    behind(line, partial(lose_index, id_=first))
    found = json.loads(line.run("reconcile", "--json").stdout)
    assert (found["walked"], found["missing"], found["repaired"]) == (2, 1, 0)
    assert found["examples"]["missing"] == [first]
    told = line.run("reconcile", "--repair")
    assert told.returncode == 0
    assert "1 repaired" in told.stdout
    assert json.loads(line.run("reconcile", "--json").stdout)["missing"] == 0


def test_reconcile_finds_objects_without_a_blob_and_removes_them_on_request(line: Line) -> None:
    line.ok("store", "first")
    assert "blobs" not in line.run("reconcile").stdout
    orphan = Path(line.environment["DATA_DIR"]) / "blobs" / "t" / "acme" / "01EJ1RQY000000000000000000"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"left over")
    found = line.run("reconcile")
    assert "1 objects without a blob: t/acme/01EJ1RQY000000000000000000" in found.stdout
    assert "--repair" in found.stdout
    repaired = json.loads(line.run("reconcile", "--repair", "--json").stdout)["blobs"]
    assert (repaired["orphans"], repaired["repaired"], orphan.exists()) == (1, 1, False)


def test_a_lost_index_is_rebuilt_by_one_command(line: Line) -> None:
    for n in range(3):
        line.ok("store", f"memory {n}")
    behind(line, lose_index)
    assert "--yes" in misused("rebuild")
    rebuilt = line.run("rebuild", "--yes", "--json")
    assert json.loads(rebuilt.stdout)["repaired"] == 3
    assert [entry["content"] for entry in line.json("recall", "memory 1", "--top-k", "1")["entries"]] == ["memory 1"]


@pytest.mark.thorough
def test_the_data_moves_to_another_model_by_five_commands(line: Line) -> None:
    contents = [f"memory {n} of the {thing}" for n, thing in enumerate(("harbour", "violin", "glacier"))]
    for content in contents:
        line.ok("store", content)
    model = {"EMBEDDER": "local"}
    assert "No re-embedding is under way" in line.fails("reembed", "status", code=1)
    started = json.loads(line.run("reembed", "start", "--json", **model).stdout)
    assert (started["complete"], started["used"]) == (True, "hashing/ngrams-v1 (384 dimensions)")
    assert "have not been compared" in line.run("reembed", "switch", **model).stderr
    questions = line.folder / "questions.jsonl"
    scope = {"tenant": "default", "agent_id": "default"}
    asked = [{**scope, "qid": content, "question": content} for content in contents]
    questions.write_text("\n".join(map(json.dumps, asked)), "utf-8")
    compared = json.loads(line.run("reembed", "parity", "--queries", str(questions), "--json", **model).stdout)
    assert (compared["queries"], compared["reciprocal_after"]) == (3, 1.0)
    switched = json.loads(line.run("reembed", "switch", "--json", **model).stdout)
    assert switched["used"] == started["other"]
    assert "--yes" in misused("reembed", "drop")
    assert "hashing/ngrams-v1" in line.run("reembed", "drop", "--yes", **model).stdout
    for content in contents:
        entries = json.loads(line.run("recall", content, "--top-k", "1", "--json", **model).stdout)["entries"]
        assert entries[0]["content"] == content


def test_dead_letters_are_listed_sent_again_and_dropped(line: Line) -> None:
    memory_id = line.json("store", "text")["id"]
    line.ok("store", "other")
    behind(line, refuse_vectors)
    rows = line.json("outbox", "list", "--dead")["rows"]
    assert [(row["state"], row["dead"]) for row in rows] == [("dead", "refused")] * 2
    assert memory_id in line.ok("outbox", "list")
    assert line.json("outbox", "retry", memory_id) == {"ids": [memory_id]}
    assert "--yes" in misused("outbox", "drop", "--all")
    assert "--all" in misused("outbox", "drop", "--yes")
    assert len(line.json("outbox", "drop", "--all", "--yes")["ids"]) == 1
    assert line.json("outbox", "list", "--dead") == {"rows": []}


def test_quotas_are_set_shown_enforced_and_cleared(line: Line) -> None:
    line.ok("migrate")
    kinds = [tier.kind for tier in TIER_TABLES if tier.counted]
    assert line.ok("quota", "show", "--tenant", "default", AGENT_MEMORIES="5").splitlines() == [
        "memories           0 of 1000000 (default)",
        "bytes              0 of 2147483648 (default)",
        "stores per minute  0 of 6000 (default)",
        "idempotency keys   0",
        "audit rows         0",
        "agent settings     0",
        "receipts           0",
        "snapshot bytes     0",
        *(f"{kind.replace('_', ' '):<18} 0" for kind in kinds),
    ]
    chosen = ("--tenant", "default", "--agent", "default", "--memories", "1", "--bytes", "unlimited")
    shown = line.json("quota", "set", *chosen, AGENT_MEMORIES="5", AGENT_BYTES="9")
    assert shown["limits"] == {"memories": 1, "bytes": None, "stores_per_minute": 3_000}
    assert shown["defaults"] == {"memories": 5, "bytes": 9, "stores_per_minute": 3_000}
    line.ok("store", "one", AGENT_BYTES="2")
    assert "agent's limit of 1 memories" in line.fails("store", "two")
    used = line.json("quota", "show", "--tenant", "default")["used"]
    assert (used["memories"], used["bytes"], used["stores_per_minute"] <= 1) == (1, 5, True)  # a minute may be over
    named = ("--tenant", "default", "--agent", "default")
    assert line.json("quota", "set", *named, "--memories", "default")["limits"]["memories"] == 500_000
    off = line.json("quota", "show", *named, AGENT_BYTES="unlimited", AGENT_STORES_PER_MINUTE="0")
    assert (off["limits"]["bytes"], off["limits"]["stores_per_minute"]) == (None, 0)
    line.ok("quota", "clear", *named)
    line.ok("store", "two")


@pytest.mark.parametrize("limit", ["-1", "1.5", "many", "9" * 400, "²"])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    assert "write a number" in misused("quota", "set", "--tenant", "a", "--memories", limit)
    assert "Name a limit" in misused("quota", "set", "--tenant", "a")


def test_prune_deletes_what_has_expired_and_says_how_much(line: Line) -> None:
    for n in range(3):
        line.ok("store", f"text {n}")
    behind(line, partial(expire, content=Not("text 0")))
    done = line.run("prune", "--calls-per-minute", "10")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        (
            "2 expired memories deleted.\n"
            "Too old: 0 idempotency keys, 0 audit rows, 0 receipts, 0 ingestions, 0 counts of model calls, "
            "0 episodes, 0 runs, 0 outcomes of workflows, 0 tool calls, 0 rows of recalls, "
            "0 expired credentials and 0 rows of administrative acts deleted.\n"
            "0 expired rows of working memory and 0 large values deleted.\n"
            "0 memories and 0 facts merged into others, 0 chains closed, 0 expired tasks deleted.\n"
        ),
        "... 2 deleted\n",
    )
    assert line.json("prune") == {
        "acts": 0,
        "pruned": 0,
        "idempotency_keys": 0,
        "audit_rows": 0,
        "receipts": 0,
        "ingestions": 0,
        "model_spend": 0,
        "episodes": 0,
        "runs": 0,
        "working": 0,
        "workflow_outcomes": 0,
        "tool_calls": 0,
        "recalls": 0,
        "credentials": 0,
        "blobs": 0,
        "consolidated": {"tenants": 1, "agents": 1, "memories": 0, "facts": 0, "chains": 0, "tasks": 0},
    }


def test_each_week_prune_merges_what_restates_each_other_unless_it_is_switched_off(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sunday(job: Callable[[], Awaitable[None]], **_: object) -> None:
        await job()

    monkeypatch.setattr("app.interfaces.cli.prune.every_week", sunday)
    for session in "ab":
        line.ok("store", "I like tea", "--session", session)
    assert line.json("prune", "--weekly", CONSOLIDATE="false")["consolidated"] is None
    assert json.loads(line.run("prune", "--weekly", "--json").stdout)["consolidated"]["memories"] == 1


def test_what_restates_each_other_is_merged_told_and_taken_back(line: Line) -> None:
    for day in ("01", "02"):
        line.ok("store", "I like tea", "--metadata", '{"speaker": "Ella"}', "--session", day)
    told = json.loads(line.run("consolidate", "--dry-run", "--json").stdout)
    assert (told["dry_run"], told["memories"], len(told["merges"])) == (True, 1, 1)
    assert "There was no consolidation yet." in line.ok("consolidate", "--report")
    assert "There was no consolidation yet." in line.ok("consolidate", "--report", "--tenant", "other")
    assert json.loads(line.run("consolidate", "--json").stdout)["memories"] == 1
    (report,) = line.json("consolidate", "--report")["consolidations"]
    assert (report["memories"], report["undone_at"]) == (1, None)
    undo = ("consolidate", "--undo", report["id"])
    assert "1 memories would hold again. Do it with --yes." in line.ok(*undo)
    assert "1 memories hold again." in line.ok(*undo, "--yes")
    assert line.json("consolidate")["memories"] == 0


@pytest.mark.parametrize(
    "given", [("--report", "--dry-run"), ("--report", "--undo", ULID), ("--dry-run", "--undo", ULID)]
)
def test_a_consolidation_is_tried_told_or_taken_back_and_only_an_undo_takes_yes(given: tuple[str, ...]) -> None:
    assert "Choose one of --dry-run, --report and --undo." in misused("consolidate", *given)
    assert "--yes goes with --undo alone." in misused("consolidate", "--yes")


def test_the_files_that_settings_are_read_from_are_told(line: Line) -> None:
    (line.folder / ".env").write_text("LOG_LEVEL=error\n", "utf-8")
    (line.folder / "own.env").write_text("", "utf-8")
    told = line.run("migrate", ENV_FILE="own.env").stderr.splitlines()
    assert told == [f"Settings are read from {(line.folder / name).resolve()}." for name in (".env", "own.env")]


def test_a_log_level_may_be_written_in_capitals(line: Line) -> None:
    assert line.run("migrate", LOG_LEVEL="ERROR").returncode == 0
    assert line.run("migrate", LOG_LEVEL="LOUD").stderr.startswith("Error: LOG_LEVEL: ")


def test_a_service_that_is_not_the_vendors_is_told(line: Line) -> None:
    told = line.run("migrate", OPENAI_BASE_URL="https://elsewhere.example/v1").stderr
    assert told == (
        "OPENAI_BASE_URL is https://elsewhere.example/v1, which is not the vendor's (https://api.openai.com/v1).\n"
    )


def test_where_a_reranker_is_sent_memories_is_told_where_one_is_set(line: Line) -> None:
    url = "http://127.0.0.1:9/v1"
    assert line.run("migrate", RERANKER_BASE_URL=url).stderr == ""
    told = line.run("migrate", RERANKER="http", RERANKER_BASE_URL=url, RERANKER_API_KEY="key-of-the-reranker").stderr
    assert told == f"RERANKER_BASE_URL is {url}: queries and memories are sent there.\n"
    told = line.fails("recall", "fox", RERANKER="http")
    assert told == "Error: RERANKER is http, but RERANKER_BASE_URL is not set.\n"
    assert "CLOUDFLARE_ACCOUNT_ID" in line.fails("recall", "fox", RERANKER="workers-ai")


def test_the_doctor_warns_of_a_reranker_that_is_away(line: Line) -> None:
    done = line.run("doctor", "--json", RERANKER="http", RERANKER_BASE_URL="http://127.0.0.1:9/v1")
    checks = json.loads(done.stdout)["checks"]
    (check,) = [check for check in checks if check["name"] == "reranker"]
    assert (done.returncode, check["ok"], check["warning"]) == (0, True, True)
    assert "could not be reached" in check["finding"]
    assert all(check["ok"] for check in checks)


def test_where_a_language_model_is_sent_messages_is_told_with_its_name(line: Line) -> None:
    url = "http://127.0.0.1:9/v1"
    set_ = {"LANGUAGE_MODEL": "http", "LANGUAGE_MODEL_BASE_URL": url, "LANGUAGE_MODEL_API_KEY": "key-of-the-model"}
    told = line.run("migrate", **set_, LANGUAGE_MODEL_NAMES="synthesise=large, verify=small").stderr
    said = (
        f"LANGUAGE_MODEL is http (its default, large, small) at {url}: messages, memories and queries are sent there."
    )
    assert told == f"{said}\n"


def test_settings_of_a_language_model_that_are_not_used_are_told(line: Line) -> None:
    url = "http://127.0.0.1:9/v1"
    told = line.run("migrate", LANGUAGE_MODEL_BASE_URL=url, LANGUAGE_MODEL_NAME="qwen").stderr
    assert told == "LANGUAGE_MODEL is none: LANGUAGE_MODEL_BASE_URL, LANGUAGE_MODEL_NAME are not used.\n"
    told = line.run("migrate", LANGUAGE_MODEL_NAMES="verify=small").stderr
    assert told == "LANGUAGE_MODEL is none: LANGUAGE_MODEL_NAMES is not used.\n"


@pytest.mark.parametrize(
    ("given", "lacks"),
    [
        ({"LANGUAGE_MODEL": "http", "LANGUAGE_MODEL_NAME": "qwen"}, "LANGUAGE_MODEL_BASE_URL"),
        ({"LANGUAGE_MODEL": "openai", "OPENAI_API_KEY": "k"}, "LANGUAGE_MODEL_NAME"),
        ({"LANGUAGE_MODEL": "openai", "LANGUAGE_MODEL_NAME": "gpt"}, "OPENAI_API_KEY"),
        ({"LANGUAGE_MODEL": "workers-ai"}, "CLOUDFLARE_ACCOUNT_ID"),
    ],
)
def test_a_language_model_that_lacks_a_setting_is_sent_nothing_and_not_said_to_be(
    line: Line, given: dict[str, Any], lacks: str
) -> None:
    told = line.fails("recall", "fox", **given)
    assert "sent there" not in told
    assert f"{lacks} " in told.splitlines()[-1]
    assert told.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LANGUAGE_MODEL", "claude", "LANGUAGE_MODEL: "),
        ("LANGUAGE_MODEL_NAMES", "compose=x", "LANGUAGE_MODEL_NAMES.compose: must be"),
        ("LANGUAGE_MODEL_NAMES", "extract=a,extract=b", "LANGUAGE_MODEL_NAMES: name each stage once"),
        ("LANGUAGE_MODEL_NAMES", "verify", "LANGUAGE_MODEL_NAMES: the name of a model must be"),
        ("LANGUAGE_MODEL_NAME", "a model", "LANGUAGE_MODEL_NAME: the name of a model must be"),
        ("LANGUAGE_MODEL_BASE_URL", "ftp://models.example", "LANGUAGE_MODEL_BASE_URL: must be an http or https URL"),
        ("LANGUAGE_MODEL_SECONDS", "0", "LANGUAGE_MODEL_SECONDS: "),
        ("RECALL_MODEL_SECONDS", "61", "RECALL_MODEL_SECONDS: "),
        ("TENANT_MODEL_CALLS_PER_DAY", "-1", "TENANT_MODEL_CALLS_PER_DAY: "),
    ],
)
def test_a_setting_of_a_language_model_that_cannot_be_used_is_named(
    line: Line, name: str, value: str, said: str
) -> None:
    done = line.run("migrate", **{name: value})
    assert done.returncode != 0
    assert said in done.stderr


def test_the_doctor_warns_of_a_language_model_that_is_away_and_usage_tells_what_it_cost(line: Line) -> None:
    set_ = {"LANGUAGE_MODEL": "http", "LANGUAGE_MODEL_BASE_URL": "http://127.0.0.1:9/v1", "LANGUAGE_MODEL_NAME": "qwen"}
    done = line.run("doctor", "--json", **set_)
    (check,) = [check for check in json.loads(done.stdout)["checks"] if check["name"] == "language model"]
    assert (done.returncode, check["ok"], check["warning"]) == (0, True, True)
    assert check["finding"].startswith("http/qwen: ")
    told = line.run("usage", "--tenant", "default", **set_, TENANT_MODEL_CALLS_PER_DAY="7").stdout
    assert "language models today: 0 of 7 calls, 0 of unlimited tokens" in told


def test_what_a_memory_holds_does_nothing_to_a_terminal(line: Line) -> None:
    line.ok("store", "red\x1b[31m \u202eyes\u200b\U000e0041 \u009b2J\r fox\n\tend")
    assert "red\\x1b[31m \\u202eyes\\u200b\\U000e0041 \\x9b2J\\r fox\n\tend" in line.ok("recall", "fox")
    (entry,) = line.json("recall", "fox")["entries"]
    assert entry["content"] == "red\x1b[31m \u202eyes\u200b\U000e0041 \u009b2J\r fox\n\tend"
    told = line.ok("recall", "fox", "--json")
    assert told == visible(told)
