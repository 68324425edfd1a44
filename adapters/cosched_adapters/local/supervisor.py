"""The fork server: `python -I -S -E supervisor.py SPOOL`. It is this short since Python compiles it at each start."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    from cosched_adapters.local.forkserver import serve

    os.chdir(sys.argv[1])
    serve()
