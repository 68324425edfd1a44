"""Jacobi's method and the Game of Life as real processes, in network namespaces whose links are shaped."""
