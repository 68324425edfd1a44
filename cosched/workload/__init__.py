"""Job logs: as they were read or drawn, as a machine can run them, and which jobs of two machines are mates."""
