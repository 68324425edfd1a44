"""Speed measurements; not collected by pytest."""

from cosched import sim  # noqa: F401  (before numpy, as in the command)
