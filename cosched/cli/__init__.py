"""The command line; what is slow to import is imported by the command that needs it."""
