"""The channels of a recall, mostly one file each: a channel finds candidates, scores them, or both."""

from app.retrieval.channels.channel import Channel
from app.retrieval.channels.date import Date
from app.retrieval.channels.hypothetical import Hypothetical
from app.retrieval.channels.key import Key
from app.retrieval.channels.learned import LearnedChannel
from app.retrieval.channels.lexical import Lexical
from app.retrieval.channels.neighbours import Beside, OfSession
from app.retrieval.channels.numbers import Numbers
from app.retrieval.channels.recent import Recent
from app.retrieval.channels.speaker import Speaker
from app.retrieval.channels.synonyms import Synonyms
from app.retrieval.channels.vector import Vector

CHANNELS: tuple[Channel, ...] = (
    Lexical(),
    Synonyms(),
    Vector(),
    Hypothetical(),
    Key(),
    Beside(),
    OfSession(),
    Speaker(),
    Date(),
    Numbers(),
    LearnedChannel(),
    Recent(),
)
"""The channels in the order in which fusion adds them: a channel that builds on others' scores comes after those."""
