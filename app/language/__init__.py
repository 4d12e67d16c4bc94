"""What is known of text as such: its words, sentences and numbers."""
