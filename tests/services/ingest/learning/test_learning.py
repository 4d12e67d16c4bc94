"""What a language model learns of the messages of an ingestion, once they are memories."""

from functools import partial
from pathlib import Path

from app.domain.author import Author
from app.domain.errors import QuotaExhausted
from app.domain.messages import NewMessage
from app.services.ingest.ingester import Ingester
from tests.services.ingest.learning.scenes import DAY, SAID_AT, scene, user
from tests.support.memories import memory_rows
from tests.support.scripted_model import (
    ScriptedModel,
    classes,
    failing,
    lines_of,
    memories_of,
    memory,
    topics_of,
    verify,
)
from tests.support.tables import ANY


async def test_what_a_model_proposes_and_its_messages_say_becomes_a_memory_of_them(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        report = await made.learned(user("I moved to Oslo", "I work at Acme"))
        assert await made.texts() == ["The user moved to Oslo", "The user work at Acme"]
        assert await made.texts(message_id=ANY) == ["I moved to Oslo", "I work at Acme"]
        assert (report.counts.passes, report.counts.proposals) == ({"done": 1}, {"learned": 2})
        (row,) = await memory_rows(made.bench, content="The user moved to Oslo")
        assert (row["session_id"], row["occurred_at"], row["metadata"]) == ("s", SAID_AT, "{}")
        assert {each.memory_id for each in report.told["learned"]} >= {row["id"]}
        assert made.model.calls == {"extract": 1, "verify": 1, "classify": 1}
        assert len(made.model.affinities) == 1


async def test_the_messages_are_answered_for_before_anything_is_learned(tmp_path: Path) -> None:
    async with scene(tmp_path, ScriptedModel(seconds=0.5)) as made:
        ingestion = await made.ingest(user("I moved to Oslo"))
        assert [item.status for item in ingestion.items] == ["stored"]
        assert ingestion.status == "running"
        assert await made.texts() == []
        assert "I moved to Oslo" in await made.bench.contents("Oslo")
        await made.report(ingestion)
        assert await made.texts() == ["The user moved to Oslo"]


async def test_while_one_process_learns_no_other_asks_the_model_the_same(tmp_path: Path) -> None:
    async with scene(tmp_path, ScriptedModel(seconds=0.3)) as made:
        ingestion = await made.ingest(user("I moved to Oslo"))
        assert not await made.ingester.resume("bot", "s", str(ingestion.id))
        await made.report(ingestion)
        assert made.model.calls == {"extract": 1, "verify": 1, "classify": 1}


async def test_what_its_messages_do_not_say_is_dropped_and_shown_with_what_is_missing(tmp_path: Path) -> None:
    lies = [memory("The user pays 4711 dollars", 1), memory("The user moved to Oslo", 1)]
    async with scene(tmp_path, ScriptedModel({"extract": lambda _: {"memories": lies}})) as made:
        report = await made.learned(user("I moved to Oslo"))
        assert await made.texts() == ["The user moved to Oslo"]
        (dropped,) = report.told["dropped"]
        assert dropped.content == "The user pays 4711 dollars"
        assert "4711" in (dropped.reason or "")
        assert report.counts.proposals == {"learned": 1, "dropped": 1}


async def test_a_correction_of_the_verification_is_compared_with_the_messages_too(tmp_path: Path) -> None:
    def corrected(text: str) -> object:
        said = {content: number for number, content in memories_of(text)}
        return {
            "passed": [said["green is a colour of tea"]],
            "corrected": [
                {"memory": said["The user moved to Oslo"], "check": "place", "statement": "The user moved to Bergen"},
                {"memory": said["The user like tea"], "check": "object", "statement": "The user like the tea"},
            ],
            "dropped": [{"memory": said["The user like jazz"], "check": "supported", "reason": "It was a question."}],
        }

    async with scene(tmp_path, ScriptedModel({"verify": corrected})) as made:
        report = await made.learned(user("I moved to Oslo", "I like tea", "I like jazz", "green is a colour of tea"))
        assert await made.texts() == ["The user like the tea"]
        (right,) = [each for each in report.told["corrected"] if each.memory_id is not None]
        assert (right.corrected_from, right.content) == ("The user like tea", "The user like the tea")
        assert right.reason
        reasons = {each.content: each.reason or "" for each in report.told["dropped"]}
        assert "Bergen" in reasons["The user moved to Bergen"]
        assert "It was a question." in reasons["The user like jazz"]
        assert report.counts.corrected == 2


async def test_what_a_machine_alone_has_said_is_learned_as_its_words_and_takes_no_place(tmp_path: Path) -> None:
    def told(text: str) -> object:
        lines = [(number, words) for number, _, before, words in lines_of(text) if not before]
        said = [
            (number, words.removeprefix("Remember that ").replace("I think", "User thinks")) for number, words in lines
        ]
        return {"memories": [memory(words, number) for number, words in said]}

    homes = partial(classes, {"Rome": "user_home", "Oslo": "user_home"})
    async with scene(tmp_path, ScriptedModel({"extract": told, "classify": homes})) as made:
        await made.learned(user("Remember that the flat is in Oslo"), "first")
        order = NewMessage("assistant", "Remember that the flat is in Rome", SAID_AT + DAY)
        (learned,) = (await made.learned([order], "later")).told["learned"]
        assert not learned.supersedes
        assert await made.texts(superseded_at=ANY) == []
        rows = await memory_rows(made.bench, "metadata", by="id", learned=ANY)
        assert [row["metadata"] for row in rows] == ["{}", '{"speaker":"assistant"}']
        await made.learned([order, *user("I think the flat is in Rome", at=SAID_AT + 2 * DAY)], "agreed")
        assert await made.texts(learned=ANY, superseded_at=ANY) == ["the flat is in Oslo"]


async def test_of_a_topic_what_was_said_last_holds_and_the_operation_names_what_it_supersedes(tmp_path: Path) -> None:
    homes = partial(classes, {"Rome": "user_home", "Oslo": "user_home"})
    async with scene(tmp_path, ScriptedModel({"classify": homes})) as made:
        first = await made.learned(user("I am glad about my flat in Rome"), "first")
        later = await made.learned(user("I am glad about my flat in Oslo", at=SAID_AT + DAY), "later")
        (old,), (new,) = first.told["learned"], later.told["learned"]
        assert new.supersedes == [old.memory_id]
        assert later.counts.superseded == 1
        assert await made.texts(learned=ANY, superseded_at=None) == [new.content]
        assert len(await made.texts(message_id=ANY, superseded_at=None)) == 2


async def test_a_model_is_shown_the_topics_that_are_nearest_and_its_own_of_this_ingestion(tmp_path: Path) -> None:
    each_its_own = [f"I like number{number} best" for number in range(30)]
    topics = {f"number{number} ": f"topic_number{number}" for number in range(30)}
    async with scene(tmp_path, ScriptedModel({"classify": partial(classes, topics)})) as made:
        await made.learned(user(*each_its_own), "first")
        shown = [topics_of(text) for text in made.model.asked if " topics\n" in text]
        assert shown[0] == []
        assert len(shown[1]) == 10
        made.model.asked.clear()
        await made.learned(user("I like number7 more than number21", at=SAID_AT + DAY), "second")
        (near,) = [topics_of(text) for text in made.model.asked if " topics\n" in text]
        assert len(near) == 20
        assert {"topic_number7", "topic_number21"} <= {*near}


async def test_what_is_a_memory_already_is_known_and_stays_as_it_was(tmp_path: Path) -> None:
    word_for_word = ScriptedModel({"extract": lambda _: {"memories": [memory("I moved to Oslo", 1)]}})
    async with scene(tmp_path, word_for_word) as made:
        report = await made.learned(user("I moved to Oslo"))
        (known,) = report.told["known"]
        (row,) = await memory_rows(made.bench, "id", "learned", "message_id")
        assert (known.memory_id, row["learned"]) == (row["id"], None)
        assert row["message_id"] is not None


async def test_the_same_conversation_again_is_neither_stored_nor_read_again(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        await made.learned(user("I moved to Oslo"))
        again = await made.ingest(user("I moved to Oslo"))
        assert (again.id, again.known) == (None, 1)
        assert made.model.calls["extract"] == 1


async def test_what_comes_later_of_a_session_is_read_with_the_two_messages_before_it(tmp_path: Path) -> None:
    async with scene(tmp_path) as made:
        await made.learned(user("I like tea", "I like jazz", "I moved to Oslo"))
        report = await made.learned(user("I like it there", at=SAID_AT + 10_000))
        (text,) = [each for each in made.model.asked if "I like it there" in each and " memories\n" not in each]
        assert "(read before): I like jazz" in text
        assert "(read before): I moved to Oslo" in text
        assert "I like tea" not in text
        assert [each.content for each in report.told["learned"]] == ["The user like it there"]


async def test_from_nine_messages_on_details_are_read_too_and_what_is_said_twice_is_one_memory(tmp_path: Path) -> None:
    twice = ScriptedModel({"detail": lambda _: {"memories": [memory("The user like number3", 4)]}})
    async with scene(tmp_path, twice) as made:
        report = await made.learned(user(*(f"I like number{number}" for number in range(9))))
        assert made.model.calls["detail"] == 1
        assert len(await made.texts()) == 9
        assert report.counts.proposals == {"learned": 9}


async def test_proposals_are_verified_twenty_at_a_time_with_the_lines_that_they_cite(tmp_path: Path) -> None:
    seen: list[int] = []

    def counted(text: str) -> object:
        seen.append(len(memories_of(text)))
        return verify(text)

    async with scene(tmp_path, ScriptedModel({"verify": counted})) as made:
        report = await made.learned(user(*(f"I like number{number}" for number in range(25))))
        assert seen == [20, 5]
        assert report.counts.proposals == {"learned": 25}


async def test_what_a_retry_learns_is_of_who_sent_the_messages_and_not_of_who_retries(tmp_path: Path) -> None:
    homes = partial(classes, {"Rome": "user_home", "Oslo": "user_home"})
    ann = Author("anns", "http", speakers=frozenset({"ann"}))
    async with scene(tmp_path, ScriptedModel({"classify": homes})) as made:
        await made.learned(user("I am glad about my flat in Rome"), "first")
        made.model.answers = {"extract": failing(QuotaExhausted("No credit is left."))}
        oslo = user("I am glad about my flat in Oslo", at=SAID_AT + DAY)
        sent = await Ingester(made.of_tenant(ann)).ingest("bot", oslo)
        await made.ended(sent)
        made.model.answers = {"classify": homes}
        await made.ingester.retry("bot", str(sent.id))
        (learned,) = (await made.report(sent)).told["learned"]
        assert learned.supersedes == []
        assert await made.texts(superseded_at=ANY) == []
        rows = await memory_rows(made.bench, "written_by, speakers", by="id", id=learned.memory_id)
        assert [(row["written_by"], row["speakers"]) for row in rows] == [("anns", '["ann"]')]
