"""What was said later goes before what was said earlier, where both state a value of what the query asks for."""
