"""What is known of machines and links: sources in the order of preference (Dail et al. 2002, III.C)."""
