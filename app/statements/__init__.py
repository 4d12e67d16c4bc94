"""What a text states: its sentences, the kind of each, and which single-valued fact it sets."""
