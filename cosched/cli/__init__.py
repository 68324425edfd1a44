"""The command line. A command that needs a slow import makes it itself."""
