"""The fork server: `python -I -S -E supervisor.py SPOOL`. It is this short since Python compiles it at each start."""

import os
import sys

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    ours = os.path.dirname(os.path.dirname(here))  # cosched is there too, or above it in a source tree
    sys.path += [ours, os.path.dirname(ours)]
    from cosched_adapters.local.forkserver import serve

    os.chdir(sys.argv[1])
    serve()
