"""What a service does differently whose manager replays a trace."""
