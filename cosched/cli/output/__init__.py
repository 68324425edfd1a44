"""The output of commands: data to standard output, messages to standard error, failures in one line."""
