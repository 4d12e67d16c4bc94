"""What a text states: the kind of each sentence, and which single-valued fact it sets."""
