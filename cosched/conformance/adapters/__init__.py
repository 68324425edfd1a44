"""What batch systems promise."""
