"""A scheduler that changes the size of running jobs: it takes processors from them, and gives them more (fluid.md)."""
