"""`python -m tests.bench.news [ROUNDS]`: from an owner's command's answer to what follows on the other domain.

A job holds on one local domain for its mate on the other, which queues. The mate is cancelled, unlinked, or replaced,
or it was cancelled and the holder waits in vain for another in its place. At the end: what an idle holder costs.
"""

import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from cosched.client import Client, Job
from tests.live.services import Pair, fill, free_port, noted, script_that_notes
from tests.waiting import wait_until

ROUNDS = 100
ASKED = 1.0  # seconds, the median
WATCHED = 95  # seconds for which an idle holder is watched: three checks
HOLD_CHECK = 30  # seconds, the default
PATIENCE = 1  # seconds for another in the place of one that was cancelled, where that is waited for


class Holder:
    """Two domains; the nodes of b are taken, so that jobs of a hold for mates there."""

    def __init__(self, folder: Path, a: Client, b: Client, pair: Pair) -> None:
        self.folder, self.a, self.b, self.pair = folder, a, b, pair
        self._number = 0

    def held(self) -> tuple[Job, Job]:
        """A job of a that holds for its mate on b, and that mate."""
        self._number += 1
        script, name = script_that_notes(self.folder, 0), f"p{self._number}"
        mate = self.b.submit(script, pair=name)
        holder = self.a.submit(script, pair=name)
        wait_until(lambda: self.a.job(holder).state == "holding" and self.a.job(holder).mates[0].id == mate.id, "holds")
        return holder, mate

    def started(self, job: Job) -> float:
        """When its first instruction was; seconds since 1970."""
        return wait_until(lambda: next((at for of, id, _, at in noted(self.folder) if (of, id) == ("a", job.id)), None))

    def cancel(self) -> float:
        """The holder starts alone."""
        holder, mate = self.held()
        self.b.cancel(mate, final=True)
        return self._until_start(holder)

    def _until_start(self, holder: Job) -> float:
        answered = time.time()
        return max(0.0, self.started(holder) - answered)

    def unlink(self) -> float:
        """The holder starts alone."""
        holder, mate = self.held()
        self.b.unlink(mate)
        after = self._until_start(holder)
        self.b.cancel(mate)
        return after

    def alone(self) -> float:
        """The holder starts alone at the end of the time for another in its place."""
        holder, mate = self.held()
        self.b.cancel(mate)
        successor = wait_until(lambda: self.a.explain(holder).job.successor, "it waits for another")
        return self.started(holder) - successor.until.timestamp()

    def replaced(self) -> float:
        """The holder asks for the job that was submitted in the place of its mate."""
        holder, mate = self.held()
        other = self.b.submit(script_that_notes(self.folder, 0), in_place_of=mate)
        answered = time.time()
        while self.a.job(holder).mates[0].id != other.id:
            time.sleep(0.005)
        after = time.time() - answered
        self.b.cancel(other, final=True)
        self.started(holder)
        return after


@contextmanager
def holders(folder: Path, **settings: object) -> Iterator[Holder]:
    """The domains, with these settings of their coscheduling."""
    pair = Pair(folder, scheme="hold", max_held_fraction="1", hold_check=HOLD_CHECK, **settings)
    for service in pair.both:
        service.config["domain"] |= {"http": f"127.0.0.1:{free_port()}", "log_level": "info"}
    try:
        pair.start()
        fill(pair.b)
        with pair.a.client() as a, pair.b.client() as b:
            yield Holder(folder, a, b, pair)
    finally:
        pair.clear()


def calls(holder: Holder) -> dict[str, float]:
    """How many calls a has made to b, by their names."""
    with urlopen(f"http://{holder.pair.a.config['domain']['http']}/metrics") as answer:
        text = answer.read().decode()
    found: dict[str, float] = {}
    for call, number in re.findall(r'^cosched_peer_calls_total\{call="(\w+)".*\} (\S+)$', text, re.MULTILINE):
        found[call] = found.get(call, 0) + float(number)
    return found


def report(what: str, measure: Callable[[], float], rounds: int) -> None:
    """Print a line of seconds."""
    seconds = [measure() for _ in range(rounds)]
    median = statistics.median(seconds)
    print(f"{what:>10} {median:7.3f} {max(seconds):7.3f}{'' if median < ASKED else '  MISSED'}", flush=True)


def main(rounds: int = ROUNDS) -> None:
    """Measure, and print a table."""
    print(f"\nNews between local domains: seconds until it has an effect, median and worst of {rounds}")
    with tempfile.TemporaryDirectory() as folder:
        with holders(Path(folder) / "now") as holder:
            for measure in (holder.cancel, holder.unlink, holder.replaced):
                report(measure.__name__, measure, rounds)
            holder.held()
            before = calls(holder)
            time.sleep(WATCHED)
            made = {call: number - before.get(call, 0) for call, number in calls(holder).items()}
            named = ", ".join(f"{call} {60 * number / WATCHED:.1f}" for call, number in made.items() if number)
            print(f"an idle holder: calls a minute to its peer: {named}")
        with holders(Path(folder) / "later", successor_patience=PATIENCE, successor_hold=PATIENCE) as holder:
            report("alone", holder.alone, rounds)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
