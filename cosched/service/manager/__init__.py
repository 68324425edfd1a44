"""The connection of a domain and its resource manager: orders go out, reports come in."""
