"""The other domains: calls to them, and what is known of them."""
