"""The study of machines and clusters."""
