"""The laws of the tiers on the engine that D1 runs on, with a few examples: each has a database of its own."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance.conftest import databases_under_gateways
from tests.conformance.d1_engine import D1Engine
from tests.services.tiers import (
    test_context_law,
    test_episodic_law,
    test_facts_law,
    test_facts_undone_law,
    test_procedural_bandit,
    test_windows_law,
    test_working_law,
)
from tests.services.tiers.test_context_law import (
    test_a_write_of_which_only_the_beginning_was_executed_can_be_made_again,
)
from tests.services.tiers.test_gate import bench, test_no_row_of_a_tier_is_written_while_its_scope_is_erased

__all__ = [
    "bench",
    "test_a_write_of_which_only_the_beginning_was_executed_can_be_made_again",
    "test_no_row_of_a_tier_is_written_while_its_scope_is_erased",
]

FEW = settings(deadline=None, max_examples=5)


@pytest.fixture(scope="module", autouse=True)
def _on_the_engine(engine: D1Engine) -> Iterator[None]:
    with databases_under_gateways(engine):
        yield


@FEW
@given(acts=st.lists(test_working_law.ACTS, min_size=4, max_size=30))
def test_keys_are_what_a_memory_of_plain_python_holds(
    acts: list[tuple[Any, ...]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    test_working_law.keys_as_the_model(acts, tmp_path_factory.mktemp("law"), "embedded")


@FEW
@given(broken=test_windows_law.BROKEN)
def test_a_message_is_in_the_window_or_in_long_term_memory_whatever_breaks(
    broken: test_windows_law.Broken, tmp_path_factory: pytest.TempPathFactory
) -> None:
    test_windows_law.nothing_is_lost(broken, tmp_path_factory.mktemp("law"), "embedded")


@FEW
@given(done=st.lists(test_episodic_law.acts, min_size=4, max_size=24))
def test_runs_and_episodes_are_as_the_model_has_them(
    done: list[test_episodic_law.Act], tmp_path_factory: pytest.TempPathFactory
) -> None:
    test_episodic_law.as_the_model(done, tmp_path_factory.mktemp("law"), "embedded")


@FEW
@given(done=st.lists(test_context_law.acts, min_size=4, max_size=30))
def test_documents_are_as_the_model_has_them(
    done: list[test_context_law.Act], tmp_path_factory: pytest.TempPathFactory
) -> None:
    test_context_law.as_the_model(done, tmp_path_factory.mktemp("law"), "embedded")


@FEW
@given(told=test_facts_law.TOLD, order=st.randoms(use_true_random=False))
def test_what_holds_is_as_a_model_says_in_whatever_order_it_arrives(
    told: list[test_facts_law.Said], order: Random
) -> None:
    test_facts_law.as_the_model(told, order, "embedded")


@FEW
@given(told=test_facts_undone_law.told)
def test_once_a_run_is_undone_all_is_as_if_it_had_never_learned_a_fact(told: list[test_facts_undone_law.Told]) -> None:
    test_facts_undone_law.as_if_never_learned(told)


@FEW
@given(posted=test_procedural_bandit.POSTED, chance=st.randoms(use_true_random=False))
def test_outcomes_in_any_order_and_however_often_end_with_the_same_counts(
    posted: list[tuple[int, float]], chance: Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    test_procedural_bandit.counted_alike(posted, chance, tmp_path_factory.mktemp("law"), "embedded")


def test_with_the_same_draws_the_choices_are_those_of_the_textbook(tmp_path_factory: pytest.TempPathFactory) -> None:
    test_procedural_bandit.as_the_textbook(150, tmp_path_factory.mktemp("law"))
