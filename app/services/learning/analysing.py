"""Asks a model for the topics, the words and the statement by which memories that answer a query may be found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from app.retrieval.query.analysis import MAX_SYNONYMS, Analysis
from app.services.learning.classifying import in_normal_form
from app.services.learning.evidence import dated
from app.services.models.request import ModelRequest, asked, fenced, request

MAX_TOPICS = 3
"""Topics that a query may ask for; a wrong one leads away."""
MAX_STATEMENT = 300
"""Characters of the statement that is embedded."""
MAX_TOKENS = 500


@dataclass(frozen=True, slots=True)
class Analysed:
    """The answer of the stage ``analyse``."""

    topics: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=6)]
    synonyms: Annotated[list[Annotated[str, Field(max_length=60)]], Field(max_length=24)]
    statement: Annotated[str, Field(max_length=400)]


def analysis(query: str, reference: int, topics: Sequence[str], mark: str) -> ModelRequest[Analysed]:
    """Return the request that analyses a query, asked at ``reference`` (ms); the model may pick from ``topics``."""
    data = (fenced("topics", "\n".join(topics), mark), fenced("question", query, mark))
    messages = asked("analyse", mark, f"Asked on {dated(reference)}.", *data)
    return request("analyse", Analysed, MAX_TOKENS, messages)


def analysed(answer: Analysed, shown: Sequence[str]) -> Analysis:
    """Return the analysis that a search uses: of the answer's topics those that were ``shown``, or all if none was."""
    named = list(dict.fromkeys(found for found in map(in_normal_form, answer.topics) if found))
    picked = [each for each in named if each in shown] if shown else named
    statement = " ".join(answer.statement.split())[:MAX_STATEMENT]
    return Analysis(picked[:MAX_TOPICS], answer.synonyms[:MAX_SYNONYMS], statement)
