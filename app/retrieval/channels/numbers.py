"""The numbers channel: who is about the very thing that a query names by its number ("server 2", not "server 3")."""

from app.retrieval.channels.channel import Channel, ParsedQuery, Scores
from app.retrieval.newer.numbered import has_numbers, numbers_asked
from app.retrieval.newer.stated_values import MAX_READ
from app.retrieval.pool import Pool


class Numbers(Channel):
    """Scores candidates that have the query's numbers beside the same nouns.

    To the words it is all one where a number stands: with "phase 2" in it, a memory of server 3 has all of "server 2".
    """

    name = "numbers"
    weight = 0.2

    def score(self, pool: Pool, query: ParsedQuery, fused: Scores) -> Scores:  # noqa: ARG002
        """Return 1 for each candidate in which all numbers that name something stand beside the same nouns."""
        asked = numbers_asked(query.text)
        if not asked:
            return {}
        numbers = frozenset[str]().union(*asked.values())
        found: dict[str, float] = {}
        for one in pool.candidates.values():
            text = one.content[:MAX_READ].lower() if one.whole else ""
            # Most lack the numbers themselves, which is seen much sooner.
            if all(number in text for number in numbers) and has_numbers(text, asked):
                found[one.id] = 1.0
        return found
