"""Runs one job: `python -I -S -E adapters/local/supervisor.py FOLDER`. This short since it is compiled each time."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from adapters.local.supervise import main

    sys.exit(main(sys.argv[1]))
