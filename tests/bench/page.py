"""`python -m tests.bench.page`: what pages of 500 jobs and 100 pairs cost the service: CPU milliseconds and bytes."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import cosched_sim  # noqa: F401  (sets the kernels' cache folder)
from tests.service.page_world import PageSide, coupled, filled

PAGES = ("/", "/jobs", "/jobs?sort=start", "/nodes", "/history", "/jobs/10")
ROUNDS = 21


async def cost(side: PageSide, page: str) -> tuple[float, int]:
    """CPU milliseconds of a page, the median, each made anew; and its bytes."""
    spent, shown = [], await side.get(page, "op")
    for _ in range(ROUNDS):
        side.forget()
        began = time.process_time()
        shown = await side.get(page, "op")
        spent.append(1000 * (time.process_time() - began))
    return statistics.median(spent), len(shown.text.encode())


async def measured(folder: Path) -> None:
    """Print the table."""
    world = filled(folder, 500, 100)
    side = coupled(world)
    for one in (side.sides["b"], side):
        await one.explaining.keep_in_step()
    print("\nPages of 500 jobs and 100 pairs: CPU ms, kB")
    for page in PAGES:
        spent, size = await cost(side, page)
        print(f"{page:>18} {spent:6.1f} {size / 1000:6.1f}")
    world.close()


def main() -> None:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(Path(folder)))


if __name__ == "__main__":
    main()
