"""Speed measurements; not collected by pytest."""

import sim  # noqa: F401  (before numpy, as in the command)
