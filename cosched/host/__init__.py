"""What the host gives a process: open files, and locks of files."""
