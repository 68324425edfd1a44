"""Speed measurements; not collected by pytest."""

import cosched_sim  # noqa: F401  (before numpy, as in the command)
