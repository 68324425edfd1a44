"""Resource managers of two kinds: `launcher` and `batch_system`. Imports nothing, as supervisors start through it."""
