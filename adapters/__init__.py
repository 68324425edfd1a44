"""Resource managers, of two kinds: `launcher` and `batch_system`. Imports nothing: supervisors start through it."""
