"""The commands that ask a running domain."""
