"""What is drawn for people: pictures of what is known. It knows the domain alone, and no route."""
