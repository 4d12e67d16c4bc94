"""The models the double offers: Workers AI's and OpenAI's interfaces over made-up, repeatable vectors and answers."""
