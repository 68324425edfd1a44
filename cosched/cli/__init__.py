"""The command line. A command that needs a slow import does it when it is called."""
