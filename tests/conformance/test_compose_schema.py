"""``compose.yaml`` is as the Compose specification has it (https://github.com/compose-spec/compose-spec)."""

import json
from pathlib import Path

import yaml
from jsonschema import Draft7Validator

from tests.conformance.toolchain import COMPOSE_SCHEMA

_COMPOSE = Path(__file__).parents[2] / "compose.yaml"


def test_the_compose_file_keeps_to_the_specification() -> None:
    schema = Draft7Validator(json.loads(COMPOSE_SCHEMA.read_text(encoding="utf-8")))
    read = yaml.safe_load(_COMPOSE.read_text(encoding="utf-8"))
    assert [(list(error.path), error.message) for error in schema.iter_errors(read)] == []


def test_a_mistake_in_the_compose_file_would_be_noticed() -> None:
    schema = Draft7Validator(json.loads(COMPOSE_SCHEMA.read_text(encoding="utf-8")))
    assert list(schema.iter_errors({"services": {"gateway": {"port": ["8000"]}}}))
