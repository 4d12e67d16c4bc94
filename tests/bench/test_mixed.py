"""The made-up year on a phone keeps its rules, and the committed file is what its generator writes."""

from pathlib import Path

from bench.quality import mixed
from bench.quality.mixed.assemble import as_line, generate
from bench.quality.mixed.check import problems

COMMITTED = Path(mixed.__file__).with_name("mixed.jsonl")


def test_the_data_set_keeps_its_rules() -> None:
    assert problems(generate()) == []


def test_the_committed_data_set_is_what_the_generator_writes() -> None:
    assert as_line(generate()) == COMMITTED.read_text("utf-8")
