"""A made-up year on one person's phone: memories of four kinds, and questions that name their evidence."""
