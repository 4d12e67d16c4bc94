"""The only words that a guard knows beside those that deny: words that name a person of a conversation."""

from typing import Final

from app.language.lexicon import words

SPEAKER: Final = words("speaker")
SPEAKERS_OWN: Final = words("speakers_own")
SPEAKING: Final = words("speaking")
ADDRESSED: Final = words("addressed")
OTHERS: Final = words("others")
"""The first words of a clause that is about another person."""
USER: Final = words("user")
ASSISTANT: Final = words("assistant")
PARTICIPANTS: Final = SPEAKER | USER | ASSISTANT
"""Words for those who take part in a conversation: they count neither as names nor as part of a statement."""
NOUNS_WITH_CAPITALS: Final = words("of_capitals")
"""Words by which a text is known to be German, where a capital does not mark a name."""
