"""The fork server: `python -I -S -E adapters/local/supervisor.py SPOOL`. This short since it is compiled each time."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from adapters.local.forkserver import serve

    os.chdir(sys.argv[1])
    serve()
