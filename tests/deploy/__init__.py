"""Real services, as processes with real sockets, databases and jobs."""
