"""The compiled parts of the fluid scheduler."""
