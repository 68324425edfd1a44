"""What the paper says, its numbers and its claims, beside what is found here."""
