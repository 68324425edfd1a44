"""Listening sockets, connections, and their limits."""
