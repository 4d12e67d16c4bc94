"""How well a memory service finds what was said: data in, questions asked, figures out."""
