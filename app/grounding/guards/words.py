"""The only words that a guard knows beside those that deny: who is meant."""

from typing import Final

from app.language.lexicon import words

SPEAKER: Final = words("speaker")
SPEAKERS_OWN: Final = words("speakers_own")
SPEAKING: Final = words("speaking")
ADDRESSED: Final = words("addressed")
OTHERS: Final = words("others")
"""With which a clause begins that is about somebody else."""
USER: Final = words("user")
ASSISTANT: Final = words("assistant")
PARTICIPANTS: Final = SPEAKER | USER | ASSISTANT
"""Who takes part in a conversation: no names, and nothing that is said of anything."""
NOUNS_WITH_CAPITALS: Final = words("of_capitals")
"""By these a text is known to be German, whose capitals tell no names."""
