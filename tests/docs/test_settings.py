import os
import random
import re
import string
import threading
from pathlib import Path

import platformdirs
import pytest

from app.domain.errors import ConfigurationError
from app.settings import Settings, load_settings, secret_strength, service

ROOT = Path(__file__).parents[2]
NAMES = {name.upper() for name in Settings.model_fields}


def test_every_setting_is_in_the_example_with_its_default() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    example = dict(line.removeprefix("# ").split("=", 1) for line in lines if re.match(r"# [A-Z0-9_]+=", line))
    assert set(example) == NAMES
    for name, value in example.items():
        field = Settings.model_fields[name.lower()]
        assert value == ("" if field.default is None or field.default_factory is not None else str(field.default)), name


def test_every_setting_is_in_the_table_with_its_description() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    assert {name: description for name, _, description in rows} == {
        name.upper(): field.description for name, field in Settings.model_fields.items()
    }


DRAWN = "9f86d081884c7d659a2feaa0c55ad015"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("short", "write each secret as kid=secret|at least 32 bytes"),
        ("xxxxxxxx", "secret 1: write each secret as kid=secret"),
        ("x" * 43 + "=", "secret 1: write each secret as kid=secret"),
        ("k=" + DRAWN + "," + "x" * 20 + "=" + "x" * 20, "secret 2 must have at least 32 bytes"),
        ("xx xx=" + "x" * 32, "secret 1: write each secret as kid=secret"),
        ("x" * 33 + "=" + "x" * 32, "secret 1: write each secret as kid=secret"),
        ("k=short", "secret 1 must have at least 32 bytes"),
        ("=" + "x" * 32, "write each secret as kid=secret"),
        ("k=" + "abcdefg" * 5, "secret 1 must have at least 8 different characters"),
        ("k=" + DRAWN + ",k=" + DRAWN[::-1], "kid of its own"),
        ("k=" + DRAWN + ",old=" + "xxxx01234567" * 8, "secret 2 [(]kid old[)] is too easy to guess, since it repeats"),
        ("k=" + "xxxxabcdefghijklmnopqrstuvwxyz0123456789", "secret 1 [(]kid k[)] is too easy to guess"),
    ],
)
def test_a_secret_that_cannot_be_used_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    monkeypatch.setenv("AUTH_SECRETS", value)
    with pytest.raises(ConfigurationError, match=problem) as caught:
        load_settings()
    assert caught.value.detail.startswith("AUTH_SECRETS: ")
    assert "Value error" not in caught.value.detail
    assert "xxxx" not in caught.value.detail


def test_several_secrets_are_read_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = DRAWN + "=", DRAWN[::-1]
    monkeypatch.setenv("AUTH_SECRETS", f"new={new}, old={old}")
    settings = load_settings()
    assert list(settings.auth_secrets.items()) == [("new", new), ("old", old)]
    assert new not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("PORT", "http"), ("PORT", "70000"), ("EMBEDDER", "magic"), ("LOG_FORMAT", "xml")),
        *(("RERANKER", "magic"), ("RERANKER_SECONDS", "0"), ("RERANKER_SECONDS", "11")),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("WORKERS", "many", "must be a whole number"),
        ("WORKERS", "0", "must be at least 1"),
        ("WORKERS", "65", "must be at most 64"),
        ("RERANKER_SECONDS", "long", "must be a number"),
        ("LOG_FORMAT", "xml", "must be 'auto', 'json' or 'text'"),
        ("TENANT_CALL_WEIGHTS", "a:0", "must be more than 0.0"),
        *(
            ("CLOUDFLARE_CALLS_PER_WINDOW", few, "must be 0, which counts no calls, or at least 100")
            for few in ("-1", "50")
        ),
    ],
)
def test_what_is_wrong_with_a_setting_is_a_plain_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as refused:
        load_settings()
    assert refused.value.detail.startswith(name)
    assert refused.value.detail.endswith(f": {said}")


def test_an_error_names_a_tenant_of_a_setting_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT_CALL_WEIGHTS", "acme:0")
    with pytest.raises(ConfigurationError, match=r"^TENANT_CALL_WEIGHTS\.acme: "):
        load_settings()


ACCOUNT_ID, DATABASE_ID = "023e105f4ecef8ad9ca31a8372d0c353", "6f1c0f2e-5b3a-4d7e-9c8b-0a1b2c3d4e5f"
IDS = {"CLOUDFLARE_ACCOUNT_ID": ACCOUNT_ID, "CLOUDFLARE_D1_DATABASE_ID": DATABASE_ID}
KEYS = ["CLOUDFLARE_API_TOKEN", "OPENAI_API_KEY", "RERANKER_API_KEY"]
URLS = ["CLOUDFLARE_API_BASE_URL", "OPENAI_BASE_URL", "RERANKER_BASE_URL"]


@pytest.mark.parametrize("name", [*IDS, *KEYS])
def test_what_was_copied_with_white_space_around_it_is_taken_without(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plain = IDS.get(name, "abc-123_")
    for value, taken in ((f" {plain}\n", plain), (" \t", None)):
        monkeypatch.setenv(name, value)
        assert getattr(load_settings(), name.lower()) == taken


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in (*IDS, *KEYS) for value in ("zz zz", "zz\nzz", "“zzzz”", "zzé", "zz\x7f")),
        *((name, value) for name in IDS for value in ("zz/zz", "..", "zz?", "zz#", "%7a%7a", "zz-memory")),
        *(("CLOUDFLARE_ACCOUNT_ID", value) for value in (DATABASE_ID, ACCOUNT_ID[1:], f"{ACCOUNT_ID}0", "z" * 32)),
        *(("CLOUDFLARE_D1_DATABASE_ID", value) for value in (ACCOUNT_ID, DATABASE_ID[1:], f"{DATABASE_ID}/zz")),
    ],
)
def test_an_id_or_a_key_of_another_form_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"^{name}: must be ") as caught:
        load_settings()
    assert "zz" not in caught.value.detail


@pytest.mark.parametrize("name", URLS)
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8787/client/v4", "https://proxy.example/v1/", "http://[::1]:80", " https://a-b.example "]
)
def test_a_url_of_a_host_is_taken(monkeypatch: pytest.MonkeyPatch, name: str, url: str) -> None:
    monkeypatch.setenv(name, url)
    assert getattr(load_settings(), name.lower()) == url.strip()


@pytest.mark.parametrize("name", URLS)
@pytest.mark.parametrize(
    "url",
    [
        *("zz", "zz.example/v1", "//zz.example", "ftp://zz.example", "http://", "http:///v1", "https://zz zz"),
        *("http://zz:99999", "http://zz:0", "http://zz:-1", "http://zz:port", "http://[::1", "http://999.1.1.1"),
        *("http://zzé.example", "http://zz..example", f"http://{'z' * 64}.example", "http://zz\x00"),
        *("http://user:zz@host.example", "https://host.example/v1?key=zz", "https://host.example/#zz"),
    ],
)
def test_a_url_that_cannot_be_called_is_named_and_not_shown(name: str, url: str) -> None:
    with pytest.raises(ConfigurationError, match="must be an http or https URL with a host") as caught:
        load_settings(before_env_file=False, folder_file=True, **{name.lower(): url})
    assert caught.value.detail.startswith(f"{name}: ")
    assert "zz" not in caught.value.detail


PREFIXES = ["EMBEDDING_QUERY_PREFIX", "EMBEDDING_DOCUMENT_PREFIX"]


@pytest.mark.parametrize("name", PREFIXES)
@pytest.mark.parametrize(
    ("value", "taken"), [("query: ", "query: "), ("off", ""), ("", None), ("\n", "\n"), ("ä" * 200, "ä" * 200)]
)
def test_a_prefix_keeps_its_white_space_and_off_is_none(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, taken: str | None
) -> None:
    monkeypatch.setenv(name, value)
    assert getattr(load_settings(), name.lower()) == taken


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_in_quotes_in_a_file_keeps_its_white_space(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / "own.env").write_text(f'{name}="query: "\n', "utf-8")
    monkeypatch.setenv("ENV_FILE", str(tmp_path / "own.env"))
    assert getattr(load_settings(), name.lower()) == "query: "


@pytest.mark.parametrize("name", PREFIXES)
@pytest.mark.parametrize("value", ["x" * 201, "a\0b", "a\udce9"])
def test_a_prefix_that_is_too_long_or_no_text_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        load_settings(before_env_file=False, folder_file=True, **{name.lower(): value})


def test_a_file_that_env_file_names_must_exist_unless_it_is_about_to_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "own.env"
    monkeypatch.setenv("ENV_FILE", str(file))
    with pytest.raises(ConfigurationError, match=f"ENV_FILE: {file} is no file"):
        load_settings()
    assert load_settings(before_env_file=True).port == 8000
    file.write_text("PORT=9000\n", "utf-8")
    assert load_settings().port == 9000
    file.write_bytes(b"PORT=\xff\n")
    with pytest.raises(ConfigurationError, match=f".env or {file} cannot be read"):
        load_settings()
    monkeypatch.setenv("ENV_FILE", "")
    assert load_settings().port == 8000


def test_the_usual_file_must_exist_only_where_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings().port == 8000
    monkeypatch.setenv("ENV_FILE", ".env")
    with pytest.raises(ConfigurationError, match=r"ENV_FILE: \.env is no file"):
        load_settings()
    (tmp_path / ".env").write_text("PORT=9000\n", "utf-8")
    assert load_settings().port == 9000


def test_a_setting_that_cannot_be_used_is_told_with_the_file_that_holds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def told(**given: str) -> str:
        with pytest.raises(ConfigurationError) as caught:
            load_settings(before_env_file=False, folder_file=True, **given)
        return caught.value.detail

    monkeypatch.chdir(tmp_path)
    folder, named = tmp_path / ".env", tmp_path / "own.env"
    folder.write_text("PORT=http\nlog_format=xml\n", "utf-8")
    problems = told().split("; ")
    assert [problem.partition(":")[0] for problem in problems] == ["PORT", "LOG_FORMAT"]
    assert all(problem.endswith(f" (read from {folder})") for problem in problems)
    named.write_text("PORT=https\nLOG_FORMAT=\n", "utf-8")
    monkeypatch.setenv("ENV_FILE", "own.env")
    of_port, of_format = told().split("; ")
    assert of_port.endswith(f" (read from {named})")
    assert of_format.endswith(f" (read from {folder})")
    monkeypatch.setenv("PORT", "ftp")
    of_port, _ = told().split("; ")
    assert "read from" not in of_port
    monkeypatch.delenv("PORT")
    of_port, _ = told(port="ftp").split("; ")
    assert "read from" not in of_port


def test_a_setting_of_a_pipe_is_told_without_waiting_for_the_pipe_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("PORT=9000\n", "utf-8")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("ENV_FILE", str(pipe))
    writer = threading.Thread(target=pipe.write_text, args=("PORT=http\n", "utf-8"))
    writer.start()
    with pytest.raises(ConfigurationError, match=r"^PORT: ") as caught:
        load_settings()
    writer.join()
    assert "read from" not in caught.value.detail


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "9000")
    assert (load_settings(port=9001).port, load_settings(port=None).port) == (9001, 9000)


def test_a_checkout_keeps_its_memories_in_its_own_folder_wherever_a_command_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATA_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_settings().data_dir == ROOT / "data"


def test_an_installed_package_keeps_its_memories_in_a_folder_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(service, "__file__", str(tmp_path / "site-packages" / "app" / "settings" / "service.py"))
    assert load_settings().data_dir == platformdirs.user_data_path("memory-gateway", appauthor=False)


@pytest.mark.parametrize("value", ["1", "99", "-1"])
def test_a_call_budget_that_a_start_would_use_up_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("CLOUDFLARE_CALLS_PER_WINDOW", value)
    with pytest.raises(ConfigurationError, match="CLOUDFLARE_CALLS_PER_WINDOW"):
        load_settings()


@pytest.mark.parametrize("value", ["0", "100"])
def test_a_call_budget_may_be_nothing_to_count_or_enough_to_start_with(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("CLOUDFLARE_CALLS_PER_WINDOW", value)
    assert load_settings().cloudflare_calls_per_window == int(value)


def test_weights_of_tenants_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT_CALL_WEIGHTS", "acme:3, other: 0.5")
    assert load_settings().tenant_call_weights == {"acme": 3.0, "other": 0.5}


@pytest.mark.parametrize("value", ["acme", "acme:", "acme:0", "acme:-1", "acme:nan", "acme:2,acme:3", ":2", "a:1e9"])
def test_a_weight_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TENANT_CALL_WEIGHTS", value)
    with pytest.raises(ConfigurationError, match="TENANT_CALL_WEIGHTS"):
        load_settings()


@pytest.mark.parametrize("through_option", [True, False])
def test_several_workers_are_not_served_by_read_replicas(
    monkeypatch: pytest.MonkeyPatch, *, through_option: bool
) -> None:
    monkeypatch.setenv("CLOUDFLARE_D1_READS", "replicas")
    assert load_settings(workers=1).cloudflare_d1_reads == "replicas"
    if not through_option:
        monkeypatch.setenv("WORKERS", "2")
    with pytest.raises(ConfigurationError, match=r"^CLOUDFLARE_D1_READS: .* WORKERS"):
        load_settings(workers=2 if through_option else None)
    monkeypatch.setenv("CLOUDFLARE_D1_READS", "primary")
    assert load_settings(workers=2).workers == 2


def test_a_file_is_named_that_sets_read_replicas_for_several_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "kept.env"
    file.write_text("CLOUDFLARE_D1_READS=replicas\n", "utf-8")
    monkeypatch.setenv("ENV_FILE", str(file))
    with pytest.raises(ConfigurationError, match=rf"^CLOUDFLARE_D1_READS: .* \(read from {re.escape(str(file))}\)$"):
        load_settings(workers=2)


@pytest.mark.parametrize("alphabet", ["0123456789abcdef", string.ascii_letters + string.digits, string.printable[:-6]])
def test_no_secret_that_was_drawn_counts_as_easy_to_guess(alphabet: str) -> None:
    chance = random.Random(7)
    secrets = ["".join(chance.choices(alphabet, k=length)) for length in (32, 43, 64, 200) for _ in range(200)]
    assert min(map(secret_strength.bits, secrets)) > secret_strength.BITS


@pytest.mark.parametrize(
    "secret",
    [
        "Xk29!pQz" * 8,
        "0123456789abcdef" * 2,
        "password12345678" * 2,
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "ab" * 500,
    ],
)
def test_a_secret_that_repeats_or_continues_a_pattern_counts_as_easy_to_guess(secret: str) -> None:
    assert secret_strength.bits(secret) < secret_strength.BITS
