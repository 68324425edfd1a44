"""Services whose manager replays a trace."""
