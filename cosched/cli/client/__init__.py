"""The commands that call a running domain."""
