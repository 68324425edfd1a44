"""The command `cosched`, which counts what it brings to disk: `python sync_counter.py FILE ARGUMENTS...`.

After each `os.fdatasync` it adds a byte to FILE. None begins while FILE.closed exists. Only what somebody waits for is
brought to disk: news for those who watch wait for such a round.
"""

import os
import sys
import time
from pathlib import Path

_real = os.fdatasync


def count(file: Path, descriptor: int) -> None:
    """In the place of `os.fdatasync`."""
    while file.with_suffix(".closed").exists():
        time.sleep(0.01)
    _real(descriptor)
    with file.open("ab") as counted:
        counted.write(b".")


if __name__ == "__main__":
    path = Path(sys.argv.pop(1))
    os.fdatasync = lambda descriptor: count(path, descriptor)
    from cosched.service.store import durability

    durability.NEWS_WAIT = 86400.0
    from cosched.cli.main import main

    sys.argv[0] = "cosched"
    main()
