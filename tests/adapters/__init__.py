"""The adapters, with real processes."""
