"""Busy services whose processes are killed at random instants, and what was seen meanwhile."""

import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from threading import Event

from cosched.client import Unreachable
from tests.live.services import PATIENCE, Federation, LocalClient, Service, script_that_adapts, script_that_notes
from tests.live.workloads import RUN_PATIENCE, Sides, Work, is_idle
from tests.waiting import wait_until

MOST_ALIVE = 0.7  # seconds between the first answer of both services and the next kill
OPENING = 1.0  # seconds, about, that a service takes before its first answer
SUBMIT_EVERY = 0.4  # seconds, on average
LOOK_EVERY = 0.1  # seconds between two looks at what holds

Hold = tuple[str, str, int]  # domain, job, generation


@dataclass(slots=True)
class Seen:
    """What was seen of a campaign, by domain; instants in seconds since 1970."""

    jobs: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # ids that submissions got
    outages: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    holds: dict[Hold, set[tuple[int, datetime | None]]] = field(default_factory=dict)  # outages before, shown end
    kills: int = 0

    @property
    def longest_outage(self) -> float:
        """Seconds."""
        return max(end - begin for outages in self.outages.values() for begin, end in outages)

    def was_away(self, domain: str, at: float, slack: float) -> bool:
        """Whether that domain was away at that instant, or so many seconds before or after it."""
        return any(begin - slack <= at <= end + slack for begin, end in self.outages[domain])


Strike = Callable[[Sequence[Service], random.Random, Seen], None]


class PatientClient(LocalClient):
    """Repeats a call, with its request id, while the domain is away."""

    def _ask(self, call):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return super()._ask(call)
            except Unreachable:
                if time.monotonic() > end:
                    raise


def campaign(
    domains: Federation, sides: Sides, seed: int, kills: int, signals: Sequence[int] = (signal.SIGKILL,),
    patience: float = RUN_PATIENCE, strike: Strike | None = None, also: Sequence[Callable[[Event], None]] = (),
    most_alive: float = MOST_ALIVE,
) -> Seen:  # fmt: skip
    """Submit the work little by little, while services are killed and started so often; then see it to its end.

    `strike`: what is done to them instead; it counts up `Seen.kills`. `also`: what others do at the same time, until
    it is over.
    """
    chance, seen, over, services = random.Random(seed), Seen(), Event(), domains.services
    choices = [*((service,) for service in services), services]
    threads = [partial(_watch, service, seen, over) for service in services] + [partial(act, over) for act in also]
    for service, work in zip(services, sides, strict=True):
        threads.append(partial(_submit, service, work, seen, over, random.Random(f"{seed} {service.name}")))
    strike = strike or partial(_outage, signals=signals)
    with _running(threads, over):
        while seen.kills < kills:
            time.sleep(chance.uniform(0, most_alive))
            strike(chance.choice(choices), chance, seen)
    wait_until(lambda: is_idle(domains), "all jobs have ended", patience)
    return seen


@contextmanager
def _running(threads: Sequence[Callable[[], None]], over: Event) -> Iterator[None]:
    """Have these threads at work; at the end of the block they are told that it is over, and waited for."""
    with ThreadPoolExecutor(len(threads)) as pool:
        running = [pool.submit(work) for work in threads]
        try:
            yield
        finally:
            over.set()
        for work in running:
            work.result()


def _outage(services: Sequence[Service], chance: random.Random, seen: Seen, signals: Sequence[int]) -> None:
    """Kill and start them; some are killed once more while they open what they find."""
    began = time.time()
    seen.kills += _restart(services, chance.choice(signals))
    if chance.random() < 0.25:
        time.sleep(chance.uniform(0, OPENING))
        seen.kills += _restart(services, chance.choice(signals))
    for service in services:
        wait_until(service.is_serving, f"{service.name} serves:\n{service.log}")
        seen.outages[service.name].append((began, time.time()))


def _restart(services: Sequence[Service], number: int) -> int:
    for service in services:
        service.kill(number)
    for service in services:
        service.start(wait=False)
    return len(services)


def _submit(service: Service, work: Sequence[Work], seen: Seen, over: Event, chance: random.Random) -> None:
    others = [peer["name"] for peer in service.config["peer"]]
    with PatientClient(service) as client:
        for job in work:
            named = {"group": job.name, "members": others} if len(others) > 1 and job.name else {"pair": job.name}
            asked = {"nodes": job.nodes, "least": job.least, "time_limit": job.time_limit}
            makes = script_that_notes if job.least is None else script_that_adapts
            script = makes(service.folder.parent, job.seconds)
            seen.jobs[service.name].append(client.submit(script, or_alone=bool(job.name), **asked, **named).id)
            over.wait(chance.uniform(0, 2 * SUBMIT_EVERY))


def _watch(service: Service, seen: Seen, over: Event) -> None:
    with service.client(timeout=2) as client:
        while not over.wait(LOOK_EVERY):
            before = len(seen.outages[service.name])
            try:
                holding = client.jobs(["holding"])
            except Unreachable:
                continue
            for job in holding:
                shown = seen.holds.setdefault((service.name, job.id, job.holds.generation), set())
                shown.add((before, job.holds.until))
