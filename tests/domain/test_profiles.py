"""Which agent a profile is, by the names of Cloudflare's Agent Memory."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import limits
from app.domain.errors import InvalidRequest
from app.domain.profiles import DEFAULT_NAMESPACE, ProfileName, agents_of

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=100)
NAMESPACES = st.from_regex(re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?", re.ASCII), fullmatch=True)
PROFILES = st.builds(ProfileName, NAMESPACES | st.just(DEFAULT_NAMESPACE), NAMES)


@pytest.mark.parametrize("name", ["bot", "a.b_c:d-e", "A" * 64, "01K2Z4M1V7Q8T3B5N6C7D8E9FA", "cfo:1"])
def test_an_agent_is_itself_in_the_namespace_default(name: str) -> None:
    assert ProfileName("default", name).agent_id == name


@pytest.mark.parametrize("name", ["cf:my-app:0123", "with space", "Åsa", "a" * 65, "a/b"])
def test_any_other_name_in_it_is_an_agent_of_its_own(name: str) -> None:
    assert ProfileName("default", name).agent_id.startswith("cf:default:")


def test_a_name_in_another_namespace_never_is_an_agent_of_that_name() -> None:
    agent_id = ProfileName("my-app", "bot").agent_id
    assert re.fullmatch(r"cf:my-app:[0-9a-f]{20}", agent_id)
    assert agent_id != ProfileName("my-app-2", "bot").agent_id


@given(PROFILES)
def test_every_profile_is_an_agent(profile: ProfileName) -> None:
    assert limits.is_id(profile.agent_id)


@given(PROFILES, PROFILES)
def test_no_two_profiles_are_one_agent(one: ProfileName, other: ProfileName) -> None:
    assert (one.agent_id == other.agent_id) == (one == other)


@given(PROFILES, NAMESPACES)
def test_an_agent_begins_with_its_own_namespace_alone(profile: ProfileName, namespace: str) -> None:
    begins = profile.agent_id.startswith(agents_of(namespace))
    assert begins == (namespace == profile.namespace and profile.agent_id != profile.name)


@pytest.mark.parametrize(
    ("namespace", "name", "field"),
    [
        ("My-App", "bot", "namespace_name"),
        ("a" * 33, "bot", "namespace_name"),
        ("-app", "bot", "namespace_name"),
        ("app-", "bot", "namespace_name"),
        ("", "bot", "namespace_name"),
        ("app", "", "profile_name"),
        ("app", "a" * 101, "profile_name"),
        ("app", "a\0b", "profile_name"),
        ("app", "a\ud800b", "profile_name"),
    ],
)
def test_a_name_outside_its_bounds_is_refused(namespace: str, name: str, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ProfileName(namespace, name)
    assert [each.field for each in refused.value.errors] == [field]
