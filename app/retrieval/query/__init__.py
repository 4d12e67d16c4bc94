"""What a query says: its terms, the names in it and the periods it means."""
