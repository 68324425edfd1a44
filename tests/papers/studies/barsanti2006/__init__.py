"""The study of Barsanti and Sodan (2006)."""
