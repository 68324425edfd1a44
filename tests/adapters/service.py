"""A service that does nothing but launch jobs: `python -m tests.adapters.service FOLDER`, one JSON list a line.

Says `ready`, then `launched ID` for each; it is there to be killed.
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.adapters.machine import machine


async def main(folder: Path) -> None:
    async with machine(folder) as here:
        print("ready", *sorted(here.found), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            job, *command = json.loads(line)
            await here.launch(job, *command)
            print("launched", job, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
