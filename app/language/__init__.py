"""What is known of text as such: its words, sentences, numbers and expressions of time."""
