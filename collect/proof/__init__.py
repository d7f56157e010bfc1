"""The proof that everything a report rests on is as it was sealed."""
