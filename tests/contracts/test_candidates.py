"""What ``find_candidates`` must find on every ``Database``: the lexical channel, above all."""

import random
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from app.bootstrap import DATABASE_FILE
from app.domain.errors import MemoryGatewayError
from app.domain.json_types import Json
from app.domain.memory import Scope
from app.domain.query import Filter
from app.indexing.jobs.merge_words import merge_words
from app.ports.database import Database, Statement
from app.retrieval.channels.vector import DEPTH
from memory_gateway_double.server import Handle
from tests.contracts.conftest import Opened, d1_database, sqlite_database
from tests.contracts.memories import INDEX, NOW, OWN, Held, Memories
from tests.support import migrated

OTHERS = [
    Scope("acme", "other"),
    Scope("other", "bot"),
    Scope("bot", "acme"),
    Scope("acm", "ebot"),
    Scope("ACME", "BOT"),
]


QUEUE = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', '{INDEX}', 'upsert', 1, 'AAAA', 1
"""
QUEUE_IN_BULK = f"""
INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at, in_bulk)
SELECT ?1 ->> 'tenant_id', ?1 ->> 'agent_id', ?1 ->> 'id', '{INDEX}', 'upsert', 1, 'AAAA', 1, 1
"""


@pytest.fixture(params=["sqlite", pytest.param("d1-double", marks=pytest.mark.thorough)])
def open_database(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Open a database that is migrated already: that takes longer than most of these tests."""
    if request.param == "sqlite":
        migrated.prepare(tmp_path)
        return partial(sqlite_database, tmp_path / DATABASE_FILE)
    double: Handle = request.getfixturevalue("double")
    return partial(d1_database, double, double.double.create_database(f"contract-{uuid4()}", migrated.image()))


@pytest.fixture
async def memories(database: Database) -> Memories:
    return Memories(database)


# What is stored, what finds it, and what does not.
FOUND: dict[str, tuple[str, list[str], list[str]]] = {
    "words, whatever their case": (
        "The Green house",
        ["green", "HOUSE", "the red or green one"],
        ["gree", "hous", "red"],
    ),
    "English endings": ("She was running to the libraries", ["runs", "run", "library"], ["runner"]),
    "accents": ("Café Müller in Łódź serves crème brûlée", ["cafe", "MULLER", "crème", "creme brulee"], ["caff"]),
    "accents written as marks": ("Cafe\u0301 Mu\u0308ller", ["café", "muller", "cafe"], ["caf"]),
    "identifiers as phrases": (
        "Ticket ABC-1234 and error E_NOENT-7 of user@example.org",
        ["abc-1234", "ABC 1234", "E_NOENT-7", "user@example.org"],
        ["1234-abc", "ABC-12345", "other@example.com"],
    ),
    "quoted phrases in their order": (
        "the red fox jumps over a lazy dog",
        ['"red fox"', "\u201clazy dog\u201d", '"fox jumps over"', '"Red FOXES"'],
        ['"fox red"', '"red dog"', '"the fox"'],
    ),
    "possessives": ("Anna's bicycle was stolen", ["Anna", "anna's", "Anna\u2019s"], ["ann"]),
    "Japanese": (
        "東京都の天気は晴れです",
        ["東京", "天気", "京都", "晴れ", "東", "す", "東京の天気は?"],
        ["大阪", "大", "気天"],
    ),
    "Chinese": ("我喜欢喝乌龙茶", ["乌龙茶", "喜欢", "茶"], ["红茶", "绿"]),
    "Korean": ("저는 서울에서 살아요", ["서울", "서울은", "서", "울"], ["부산", "부"]),
    "Thai": ("ฉันชอบกินข้าวผัด", ["ข้าวผัด", "ชอบ", "ผ"], ["ปลา"]),
    "figures within a script without spaces": (
        "東京2024年に3回行った",
        ["東京", "2024年", "東京で3月に何をした?"],
        ["2023"],
    ),
    "scripts within one word": ("iPhone手机和Python语言", ["手机", "语言", "iphone", "python"], ["电脑", "java"]),
    "Arabic, with article and without": (
        "ذهبت إلى المكتبة والمدرسة",
        ["مكتبة", "المكتبة", "للمكتبة", "مدرسة", "والمدرسة"],
        ["مطعم"],
    ),
    "Arabic, with vowel marks and without": ("قرأ الكِتَابَ", ["كتاب", "الكتاب", "كِتَاب"], ["قلم"]),
    "full-width and other forms": (
        "\uff2e\uff4f\uff54\uff45 \uff12\uff10\uff12\uff14: ﬁle №5 ｶﾀｶﾅ",
        ["note", "2024", "file", "カタカナ"],
        ["notes2"],
    ),
    "Cyrillic and Greek": ("Привет из Москвы, ΟΔΟΣ", ["москвы", "ПРИВЕТ", "οδος"], ["москва"]),
    "Hindi": ("मुझे हिन्दी पसंद है", ["हिन्दी"], ["अंग्रेज़ी"]),
    "numbers": ("The flat costs 1200 at No. 7", ["1200", "7"], ["120", "12"]),
    "what only looks like syntax": (
        'scope NEAR and content OR "a" NOT *',
        ["scope", "NEAR", "content", 'scope "near"', "scope:x", "(near)"],
        ["segment"],
    ),
}


async def test_a_memory_is_found_by_its_words(memories: Memories) -> None:
    wrong: list[str] = []
    for number, (name, (content, finding, missing)) in enumerate(FOUND.items()):
        scope = Scope("acme", f"agent-{number}")
        await memories.put(content, "something else entirely", scope=scope)
        wrong += [f"{name}: {query}" for query in finding if await memories.found(query, scope=scope) != [content]]
        wrong += [f"{name}: not {query}" for query in missing if await memories.found(query, scope=scope)]
    assert wrong == []


SYNTAX = [
    "NEAR(fox bear)", "fox AND bear", "fox OR", "NOT fox", "fox NOT", "^fox", "fox*", "*", "fox + bear", "-fox",
    "{content} : fox", "scope : fox", "content:fox", "segments : fox", '"fox', 'fox"', '"""', "'fox'", "fox\\", "(fox",
    "fox)", "((fox) OR (bear))", '" OR "1"="1', 'x" OR scope : "y', "fox; DROP TABLE memory_words", "{", "}",
    "fox, bear", "\u201cfox", "\u300cfox", '"fox" "', "\u202efox\u202c", "fo\u200bx fox", "fox\ufeff", "\ufffe fox",
    "fox \U0001f98a",
]  # fmt: skip


async def test_nothing_of_a_query_is_read_as_syntax(memories: Memories) -> None:
    await memories.put("a fox", "a bear", "neither")
    for query in SYNTAX:
        wanted = sorted(f"a {word}" for word in ("fox", "bear") if word in query.lower())
        assert await memories.found(query) == wanted, query


NOTHING = [
    "",
    "  ",
    "the of and",
    "?!... -- ()",
    "\U0001f98a\U0001f43b",
    "\u200b\u200d\ufeff",
    "\u0301",
    '""',
    "_ __ _",
]


async def test_a_query_without_words_finds_nothing_by_words(memories: Memories) -> None:
    await memories.put("the fox and the bear \U0001f98a", "_ __ _ ?!", "e\u0301")
    assert [query for query in NOTHING if await memories.found(query)] == []


async def test_where_nothing_was_ever_stored_nothing_is_found(memories: Memories) -> None:
    pool = await memories.gather("fox bear", hits=[("01K00000000000000000000000", 1.0)], fill=5)
    assert pool.candidates == {}


async def test_words_are_found_in_their_own_scope_alone(memories: Memories) -> None:
    await memories.put("a red fox")
    for scope in OTHERS:
        await memories.put(f"the fox of {scope.tenant_id} {scope.agent_id}", "another fox", scope=scope)
    assert await memories.found("fox") == ["a red fox"]
    pool = await memories.gather("fox red bear")
    assert (pool.stats.memories, [pool.stats.found.get(str(term), 0) for term in range(3)]) == (1, [1, 1, 0])
    for scope in OTHERS:
        assert len(await memories.found("fox", scope=scope)) == 2


async def test_content_that_holds_a_scopes_own_word_is_in_no_other_scope_for_it(memories: Memories) -> None:
    words = [f"{scope.tenant_id.encode().hex()}g{scope.agent_id.encode().hex()}0" for scope in (OWN, *OTHERS)]
    forged = " ".join([*words, "scope", *(f'scope:"{word}"' for word in words), "fox"])
    for scope in OTHERS:
        await memories.put(forged, scope=scope)
    assert await memories.found("fox") == []
    assert await memories.found(forged) == []
    await memories.put("a red fox")
    assert await memories.found("fox") == ["a red fox"]
    assert await memories.found(words[0]) == []  # its own scope is no word of a memory either
    for scope in OTHERS:
        assert await memories.found(words[0], scope=scope) == [forged]


async def test_hits_of_another_scope_are_no_candidates(memories: Memories) -> None:
    own = await memories.put("mine")
    hits = [(id_, 1.0) for scope in OTHERS for id_ in await memories.put("theirs", scope=scope)]
    pool = await memories.gather(hits=[*hits, (own[0], 0.5), ("01K00000000000000000000999", 0.1)])
    assert list(pool.candidates) == own
    for id_, _ in hits:
        assert id_ not in (await memories.gather(hits=hits, fill=5, also=id_)).candidates


async def test_no_section_finds_anything_of_another_scope(memories: Memories, database: Database) -> None:
    for scope in OTHERS:
        planted = [Held(f"a fox of {scope.tenant_id} {scope.agent_id}", session="s", at=NOW + n) for n in (-1, 1)]
        ids = await memories.put(*planted, "newest", scope=scope)
        for id_ in ids:
            queued = {"tenant_id": scope.tenant_id, "agent_id": scope.agent_id, "id": id_}
            await database.run([Statement(QUEUE, queued, writes=True)])
    theirs = await memories.put(Held("a fox", session="s", at=NOW), scope=OTHERS[0])
    (own,) = await memories.put(Held("a red fox", session="s", at=NOW))
    everything: dict[str, Any] = {"max_pending": 100, "fill": 100, "sections": {"dated": [[0, 2 * NOW]]}}
    hits = [(own, 1.0), *((id_, 0.5) for id_ in (*ids, *theirs))]
    for where in (Filter(), Filter(created_after=1)):
        for words in (True, False):
            pool = await memories.gather(
                "fox", hits=hits, where=where, also=theirs[0], search_words=words, **everything
            )
            assert [(one.id, one.before, one.after) for one in pool.candidates.values()] == [(own, None, None)]
            assert pool.stats.memories == 1


async def test_a_filter_is_applied_before_anything_is_limited(memories: Memories) -> None:
    await memories.put(*[Held(f"red fox {n}", {"kind": "other"}) for n in range(600)])
    (last,) = await memories.put(Held("a red fox among many words that make it a worse match", {"kind": "x"}))
    where = Filter(metadata={"kind": "x"})
    assert list((await memories.gather("red fox", where=where)).candidates) == [last]
    hits = [(f"01K{n:023d}", 1 - n / 1000) for n in range(601)]
    assert list((await memories.gather(hits=hits, where=where)).candidates) == [last]
    assert list((await memories.gather(where=where, fill=1)).candidates) == [last]


async def test_filters_on_time_exclude_their_bounds(memories: Memories) -> None:
    await memories.put(*[Held(f"fox {n}", created=NOW + n) for n in range(5)])
    assert await memories.found("fox", where=Filter(created_after=NOW + 1, created_before=NOW + 4)) == [
        "fox 2",
        "fox 3",
    ]


async def test_what_has_expired_is_no_candidate_unless_it_is_asked_for_itself(memories: Memories) -> None:
    gone, still = await memories.put(Held("an old fox", expires=1), Held("a fox", expires=NOW * 2))
    pool = await memories.gather("fox", hits=[(gone, 1.0), (still, 0.9)], fill=5)
    assert [(one.id, one.expired) for one in pool.candidates.values()] == [(still, False)]
    pool = await memories.gather("fox", also=gone)
    assert {one.id: one.expired for one in pool.candidates.values()} == {gone: True, still: False}


async def test_one_that_is_asked_for_is_there_whatever_the_filter(memories: Memories) -> None:
    asked, other = await memories.put(Held("a fox", {"k": 1}), Held("a bear", {"k": 1}))
    (passing,) = await memories.put(Held("an owl", {"k": 2}))
    where = Filter(metadata={"k": 2})
    pool = await memories.gather(hits=[(other, 1.0), (passing, 1.0)], where=where, also=asked)
    assert set(pool.candidates) == {asked, passing}


async def test_a_session_is_in_the_order_of_its_times_and_then_of_its_stores(memories: Memories) -> None:
    later, first, second, third = await memories.put(
        Held("later", session="s", at=NOW + 5),
        Held("first", session="s", at=NOW - 5),
        Held("second", session="s"),
        Held("third", session="s"),
    )
    (alone,) = await memories.put("alone")
    (elsewhere,) = await memories.put(Held("elsewhere", session="t", at=NOW - 9))
    await memories.put(Held("first", session="s", at=NOW + 1), scope=OTHERS[0])
    found = (await memories.gather(fill=100)).candidates
    before = {id_: one.before for id_, one in found.items()}
    assert before == {first: None, second: first, third: second, later: third, alone: None, elsewhere: None}
    assert {id_: one.after for id_, one in found.items() if one.after} == {first: second, second: third, third: later}
    assert [found[id_].happened_at for id_ in (first, second, later)] == [NOW - 5, NOW, NOW + 5]
    assert [found[id_].occurred_at for id_ in (first, second, later)] == [NOW - 5, None, NOW + 5]


async def test_a_neighbour_is_known_whatever_the_number_of_its_row(memories: Memories) -> None:
    _, *left = await memories.put(*(Held(f"message {number}", session="s", at=number) for number in range(4)))
    await memories.remove("message 0")  # one row's number is how many memories are left
    found = (await memories.gather(fill=100)).candidates
    assert [found[id_].before for id_ in left] == [None, *left[:-1]]


async def test_a_candidate_comes_with_its_neighbours(memories: Memories) -> None:
    await memories.put(*[Held(f"turn {n}", session="s", at=NOW + n) for n in range(9)])
    await memories.put(Held("the fox", session="s", at=NOW + 4), Held("turn of another", session="t", at=NOW + 4))
    contents = {one.content for one in (await memories.gather("fox")).candidates.values()}
    assert contents == {"the fox", "turn 4", "turn 5"}


async def test_a_neighbour_that_does_not_pass_is_no_candidate(memories: Memories) -> None:
    await memories.put(
        Held("before", session="s", at=1, expires=1),
        Held("the fox", {"k": 1}, session="s", at=2),
        Held("after", {"k": 2}, session="s", at=3),
    )
    assert {one.content for one in (await memories.gather("fox")).candidates.values()} == {"the fox", "after"}
    pool = await memories.gather("fox", where=Filter(metadata={"k": 1}))
    assert {one.content for one in pool.candidates.values()} == {"the fox"}


async def test_a_row_that_a_program_keeps_does_not_exist_for_a_model(memories: Memories, database: Database) -> None:
    row: dict[str, Any] = {"metadata": {"store.key": None}, "session": "s"}
    first, row_between, last, fox_row = await memories.put(
        Held("the fox", session="s", at=1),
        Held("between", at=2, **row),
        Held("after", {"store": 1, "other": {"store.key": 1}}, session="s", at=3),
        Held("a fox", at=4, **row),
    )
    queued = {"tenant_id": OWN.tenant_id, "agent_id": OWN.agent_id, "id": fox_row}
    await database.run([Statement(QUEUE, queued, writes=True)])
    everything: dict[str, Any] = {"hits": [(row_between, 1.0)], "fill": 9, "sections": {"dated": [[0, 9]]}}
    assert len((await memories.gather("fox", **everything)).candidates) == 4
    for words in (True, False):
        pool = await memories.gather("fox", for_model=True, search_words=words, **everything)
        assert {one.id: (one.before, one.after) for one in pool.candidates.values()} == {
            first: (None, last),
            last: (first, None),
        }
    pool = await memories.gather("fox", for_model=True)
    assert {one.content for one in pool.candidates.values()} == {"the fox", "after"}


async def test_what_is_queued_for_the_index_is_a_candidate(memories: Memories, database: Database) -> None:
    queued, expired = await memories.put("queued", Held("expired", expires=1))
    for id_, index in ((queued, INDEX), (expired, INDEX), (queued, "another")):
        sql = (
            "INSERT INTO outbox (tenant_id, agent_id, id, index_name, operation, revision, vector, due_at)"
            f" VALUES ('acme', 'bot', '{id_}', '{index}', 'upsert', 1, 'AAAA', 1)"
        )
        await database.run([Statement(sql, writes=True)])
    await memories.put("not queued")
    assert [one.content for one in (await memories.gather()).candidates.values()] == ["queued"]
    assert (await memories.gather(index_name="a third")).candidates == {}
    assert (await memories.gather(max_pending=0)).candidates == {}
    assert (await memories.gather(where=Filter(metadata={"k": 1}))).candidates == {}


async def test_how_often_words_are_held_is_counted_in_the_scope(memories: Memories) -> None:
    await memories.put(*[f"note {n}" for n in range(8)], "note on a fox", "a fox")
    pool = await memories.gather("fox note absent")
    assert (pool.stats.memories, [pool.stats.found.get(str(term), 0) for term in range(3)]) == (10, [2, 9, 0])
    held = {one.content: set(one.terms) for one in pool.candidates.values()}
    assert held["note on a fox"] == {0, 1}
    assert held["a fox"] == {0}


async def test_a_word_of_every_memory_of_a_large_scope_still_finds(memories: Memories) -> None:
    await memories.put(*[f"note {n}" for n in range(2500)])
    assert "note 7" in await memories.found("note 7")
    assert await memories.found("note")
    assert await memories.found("Which note?")
    assert (await memories.gather("note", where=Filter(created_after=NOW))).candidates == {}


async def test_words_of_every_memory_are_found_together_and_no_other_word_for_them(memories: Memories) -> None:
    await memories.put(*[f"note {n} is {'short' if n % 2 else 'long'}" for n in range(300)])
    pool = await memories.gather("absent short notes", max_pending=0)
    assert pool.candidates
    assert all("short" in one.content for one in pool.candidates.values() if one.whole)
    assert {tuple(one.terms) for one in pool.candidates.values()} == {(1, 2)}


async def test_how_common_a_word_is_in_a_large_scope_is_estimated_of_a_part_of_its_memories(memories: Memories) -> None:
    for scope in (OTHERS[0], OWN):
        contents = [f"n{n} {'often' if n % 7 == 0 else ''} {'seldom' if n > 1370 else ''}" for n in range(1500)]
        await memories.put(*contents, scope=scope)
    pool = await memories.gather("often seldom n7 absent")
    often, seldom, once, absent = (pool.stats.found.get(str(term), 0) for term in range(4))
    assert 150 <= often <= 290  # it is in 215
    assert 100 <= seldom <= 160  # it is in 129, which are the newest
    assert (once, absent) == (1, 0)


async def test_another_agents_memories_change_nothing_that_is_found_or_counted(memories: Memories) -> None:
    contents = [f"n{n} {'often' if n % 3 == 0 else ''} {'seldom' if n % 40 == 0 else ''}" for n in range(1100)]
    await memories.put(*contents)
    alone = await memories.gather("often seldom n7")
    await memories.put(*[f"{content} seldom" for content in contents[:200]], scope=OTHERS[0])
    beside = await memories.gather("often seldom n7")
    assert beside.stats == alone.stats
    assert {id_: one.words for id_, one in beside.candidates.items()} == {
        id_: one.words for id_, one in alone.candidates.items()
    }


async def test_of_a_hit_it_is_known_which_words_it_holds_however_many_memories_hold_them(memories: Memories) -> None:
    ids = await memories.put(*[f"note {n} {'of foxes' if n < 400 else ''}" for n in range(1100)])
    pool = await memories.gather("foxes", hits=[(ids[0], 0.9), (ids[-1], 0.8)], max_pending=0)
    assert [pool.candidates[id_].words for id_ in (ids[0], ids[-1])] == [1, 0]


async def test_where_all_words_are_common_a_hit_with_one_of_them_is_not_said_to_hold_all(memories: Memories) -> None:
    ids = await memories.put(*[f"n{n} {'fox' if n < 900 else ''} {'owl' if n > 200 else ''}" for n in range(1100)])
    pool = await memories.gather("fox owl", hits=[(ids[0], 0.9), (ids[-1], 0.8), (ids[500], 0.7)], max_pending=0)
    assert pool.candidates[ids[0]].words & 0b10 == 0
    assert pool.candidates[ids[-1]].words & 0b01 == 0
    assert pool.candidates[ids[500]].words in (0b00, 0b11)


async def test_only_what_is_likely_to_be_an_entry_is_read_whole(memories: Memories) -> None:
    ids = await memories.put(*[Held(f"Ann: the fox {n}", {"kind": "x"}, session=f"s{n}") for n in range(1100)])
    pool = await memories.gather(hits=[(id_, 1 - n / 100) for n, id_ in enumerate(ids[:60])], likely=10, max_pending=0)
    whole = {id_ for id_, one in pool.candidates.items() if one.whole}
    assert whole == set(ids[:10])
    others = [one for one in pool.candidates.values() if not one.whole]
    assert others
    assert {(one.content, one.metadata_json, *one.speaker) for one in others} == {("Ann: ", "{}", "ann")}
    assert {one.bytes for one in others} <= {len(f"Ann: the fox {n}") for n in range(60)}


async def test_what_stands_beside_one_that_is_likely_to_be_an_entry_is_read_whole_too(memories: Memories) -> None:
    ids = await memories.put(*[Held(f"fox {n}", session=f"s{n // 3}", at=NOW + n) for n in range(1200)])
    middle = ids[1::3][:20]
    hits = [(id_, 1 - n / 100) for n, id_ in enumerate(middle)]
    pool = await memories.gather(hits=hits, likely=10, max_pending=0)
    assert {id_ for id_, one in pool.candidates.items() if one.whole} == set(ids[:30])
    assert set(pool.candidates) == set(ids[:60])


@pytest.mark.parametrize(("size", "expected"), [(1200, 34), (7500, 30), (11_000, 26), (1_000_000, 26)])
async def test_the_larger_a_scope_the_fewer_are_read_with_what_stands_beside_them(
    memories: Memories, database: Database, size: int, expected: int
) -> None:
    ids = await memories.put(*[Held(f"fox {n}", session=f"s{n // 3}", at=NOW + n) for n in range(102)])
    await database.run([Statement("UPDATE usage SET memories = ?1 ->> 0 WHERE agent_id <> ''", [size], writes=True)])
    hits = [(id_, 1 - n / 100) for n, id_ in enumerate(ids[1::3])]
    pool = await memories.gather(hits=hits, likely=50, max_pending=0)
    assert len(pool.candidates.keys() & set(ids[::3])) == expected


async def test_who_wrote_a_memory_is_told_of_each_though_most_are_of_one_writer(memories: Memories) -> None:
    await memories.put(
        Held("fox 1", written=("anna", "http", NOW - 5), created=NOW - 9),
        Held("fox 2", created=NOW - 8),
        Held("fox 3", written=("bob", "http", NOW), created=NOW - 7),
        Held("fox 4", written=("anna", "mcp", NOW - 6), at=0, created=NOW - 6),
        Held("fox 5", written=("anna", "mcp", NOW), created=NOW),
        Held("fox 6", written=(None, "command", NOW - 4), created=NOW - 4),
    )
    pool = await memories.gather("fox")
    assert {one.content: (one.written_by, one.written_through, one.written_at) for one in pool.candidates.values()} == {
        "fox 1": ("anna", "http", NOW - 5),
        "fox 2": (None, None, None),
        "fox 3": ("bob", "http", NOW),
        "fox 4": ("anna", "mcp", NOW - 6),
        "fox 5": ("anna", "mcp", NOW),
        "fox 6": (None, "command", NOW - 4),
    }
    assert {one.content: one.occurred_at for one in pool.candidates.values() if one.occurred_at is not None} == {
        "fox 4": 0
    }


async def test_of_a_period_that_is_asked_for_what_another_channel_finds_too_is_read_whole_first(
    memories: Memories,
) -> None:
    day = 86_400_000
    then = NOW - 50 * day
    of_then = await memories.put(*[Held(f"the fox {n}", at=then + n) for n in range(30)])
    others = await memories.put(*[Held(f"the hare {n}", at=then + 20 * day) for n in range(1100)])
    hits = [*((id_, 1.0) for id_ in others[:20]), (of_then[0], 0.1)]  # older than the newest 20 of the period
    dated: dict[str, Json] = {"dated": [[[then - day, then + day]]]}
    pool = await memories.gather(hits=hits, sections=dated, likely=10, max_pending=0)
    whole = {id_ for id_, one in pool.candidates.items() if one.whole}
    assert of_then[0] in whole
    assert whole <= set(of_then)
    without = await memories.gather(hits=hits, likely=10, max_pending=0)
    assert not without.candidates[of_then[0]].whole


async def test_a_period_has_the_same_candidates_whether_the_index_has_given_all_that_pass_a_filter_or_may_have_more(
    memories: Memories, database: Database
) -> None:
    passing = await memories.put(*[Held(f"the fox {n}", {"kind": "x"}, at=NOW - 5000 + n) for n in range(60)])
    others = await memories.put(*[Held(f"the hare {n}", {"kind": "y"}, at=NOW - 2000 + n) for n in range(1100)])
    asked: dict[str, Any] = {
        "where": Filter(metadata={"kind": "x"}),
        "sections": {"dated": [[[NOW - 4970, NOW]], [[NOW - 4990, NOW - 4960]]]},
        "max_pending": 0,
        "index_depth": DEPTH,
    }
    hits = [(id_, 1 - place / 60) for place, id_ in enumerate(passing)]  # the newest 20 of the period are the farthest
    given_all = await memories.gather(hits=hits, **asked)
    may_have_more = await memories.gather(hits=[*hits, *((f"01K9{n:022d}", 0.0) for n in range(40))], **asked)
    whole = {id_: one.whole for id_, one in given_all.candidates.items()}
    assert {id_: one.whole for id_, one in may_have_more.candidates.items()} == whole
    assert set(passing[-20:]) <= set(whole) < set(passing)
    assert set(passing[-20:]) <= set((await memories.gather(hits=[], **asked, fill=1)).candidates)
    assert not (await memories.gather(hits=[], **asked)).candidates  # an index that gives no hit says that none passes
    await database.run([Statement(QUEUE_IN_BULK, {**OWN.argument, "id": others[0]}, writes=True)])
    assert set((await memories.gather(hits=[], **asked)).candidates) == set(passing[-20:])


async def test_what_happened_close_to_a_period_that_is_asked_for_comes_before_what_happened_far_from_it(
    memories: Memories,
) -> None:
    day = 86_400_000
    then = NOW - 50 * day
    close = await memories.put(*[Held(f"the fox {n}", at=then - 3 * day) for n in range(10)])
    far = await memories.put(*[Held(f"the hare {n}", at=then - 30 * day) for n in range(1100)])
    await memories.put(Held("the owl", at=then))
    hits = [*((id_, 1.0) for id_ in far[:20]), *((id_, 0.1) for id_ in close)]
    pool = await memories.gather(hits=hits, sections={"dated": [[[then - day, then + day]]]}, likely=11, max_pending=0)
    assert {one.content for one in pool.candidates.values() if one.whole} == {
        "the owl",
        *(f"the fox {n}" for n in range(10)),
    }


async def test_the_longest_query_is_taken(memories: Memories) -> None:
    await memories.put("word5 of many")
    assert await memories.found(" ".join(f"word{n}" for n in range(10_000))) == ["word5 of many"]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))])
async def test_the_index_of_words_is_true_whatever_is_stored_and_removed(
    memories: Memories, database: Database, seed: int
) -> None:
    chance = random.Random(seed)
    words = ["fox", "café", "東京都の天気", "ﬁle", "المكتبة", "running", "", "\U0001f98a"]
    held: dict[Scope, set[str]] = {scope: set() for scope in (OWN, *OTHERS[:2])}
    for _ in range(25):
        scope = chance.choice(list(held))
        act = chance.random()
        if act < 0.6:
            contents = [f"n{chance.randrange(6)} {chance.choice(words)}" for _ in range(3)]
            await memories.put(*contents, scope=scope)
            held[scope].update(contents)
        elif act < 0.9 and held[scope]:
            gone = chance.choice(sorted(held[scope]))
            await memories.remove(gone, scope=scope)
            held[scope].discard(gone)
        else:
            sql = "DELETE FROM long_term_memory WHERE tenant_id = ?1 ->> 0 AND agent_id = ?1 ->> 1"
            await database.run([Statement(sql, [scope.tenant_id, scope.agent_id], writes=True)])
            held[scope].clear()
        await memories.check_words()
    for scope, contents_ in held.items():
        for query in ("fox", "cafe", "東京", "file", "مكتبة", "run"):
            found = await memories.found(query, scope=scope)
            word = {"fox": "fox", "cafe": "café", "東京": "東京都の天気", "file": "ﬁle", "run": "running"}.get(query)
            assert found == sorted(content for content in contents_ if (word or "المكتبة") in content)


async def test_changing_what_the_words_are_made_of_keeps_the_index_true(memories: Memories, database: Database) -> None:
    id_, _ = await memories.put("東京", "a fox")
    await memories.put("a bear", scope=OTHERS[0])
    for change in ("segments = NULL", "segments = 'made otherwise'", "content = 'an owl'", "agent_id = 'other'"):
        await database.run([Statement(f"UPDATE long_term_memory SET {change} WHERE id = '{id_}'", writes=True)])
        await memories.check_words()
    assert await memories.found("owl", scope=OTHERS[0]) == ["an owl"]
    assert await memories.found("東") == []


async def test_the_check_of_the_index_of_words_finds_what_is_not_true(memories: Memories, database: Database) -> None:
    (id_,) = await memories.put("a fox")
    await database.run([Statement("DROP TRIGGER long_term_memory_reworded", writes=True)])
    await database.run([Statement(f"UPDATE long_term_memory SET content = 'an owl' WHERE id = '{id_}'", writes=True)])
    with pytest.raises(MemoryGatewayError):
        await memories.check_words()


async def test_a_merge_of_the_index_of_words_ends_and_changes_nothing_that_is_found(
    memories: Memories, database: Database
) -> None:
    for number in range(33):
        await memories.put(f"ship {number} lies in the harbour")
    await memories.remove("ship 7 lies in the harbour")
    before = await memories.found("harbour 12")
    assert len(before) == 32
    assert await merge_words(database) > 0
    assert await merge_words(database) == 0
    assert await memories.found("harbour 12") == before
    await memories.check_words()
