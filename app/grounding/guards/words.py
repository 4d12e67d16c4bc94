"""The only words that a guard knows beside those that deny: who is meant, in English, German and Swedish.

This table stays as small as it is. What else a language says with words is the reader's to know.
"""

from typing import Final

from app.domain.words import word_set

SPEAKER: Final = word_set(
    "i me my mine we us our ours",
    "ich mich mir mein meine meinen meinem meiner wir uns unser unsere unseren unserem unserer",
    "jag mig min mitt mina vi oss vår vårt våra",
)
SPEAKERS_OWN: Final = word_set("my our", "mein meine meinen meinem meiner unser unsere", "min mitt mina vår vårt våra")
SPEAKING: Final = word_set("i we", "ich wir", "jag vi")
ADDRESSED: Final = word_set(
    "you your yours", "du dich dir dein deine deinen ihr euch sie ihnen ihre", "du dig din ditt dina ni er"
)
OTHERS: Final = word_set("he she they", "er", "han hon de")
"""With which a clause begins that is about somebody else: "sie" may be many."""
USER: Final = word_set("user users", "nutzer nutzerin nutzers benutzer benutzerin", "användare användaren användarens")
ASSISTANT: Final = word_set("assistant agent", "assistent", "assistenten agenten")
NOUNS_WITH_CAPITALS: Final = word_set(
    "der das und ist nicht ein eine einen kein keine vom zum zur für auf nach seit sich wird wurde sind oder aber",
    "ich wir mein meine ihr ihre nutzer nutzerin",
)
"""By these a text is known to be German, whose capitals tell no names."""
