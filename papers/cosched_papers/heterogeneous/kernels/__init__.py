"""The compiled parts of a heterogeneous scheduler."""
