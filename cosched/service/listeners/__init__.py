"""Where connections come in, and how many may stand."""
