"""Job logs: reading and generating them, fitting them to a machine, and pairing the jobs of two machines."""
