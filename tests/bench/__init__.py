"""Speed measurements; not collected by pytest."""

from cosched.installation.compilation import use_kernel_cache

use_kernel_cache()  # before numpy, as in the command
