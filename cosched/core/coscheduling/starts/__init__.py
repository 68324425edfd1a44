"""How jobs that start together do so: what is asked, proposed, promised and told."""
