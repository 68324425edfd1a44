"""What a domain knows of the other domains, and how it calls them."""
