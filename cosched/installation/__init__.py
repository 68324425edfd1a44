"""What is installed: optional packages, and the cache of compiled kernels."""
