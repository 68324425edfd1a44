"""The world of `world`, which looks at all slots after everything that happens."""

from collections import Counter, defaultdict

from cosched.core.job import WAITING
from tests.service.outside import TIMEOUT
from tests.service.world import World


class MeetingWorld(World):
    """A slot is known to the core and to the scheduler alike, and none is kept for ever.

    Members that have the same slot have it at the same instant, or as much later as answers take.
    """

    def __init__(self, *arguments) -> None:
        self.slots: Counter[str] = Counter()
        super().__init__(*arguments)

    def at(self, instant, act) -> None:
        def act_and_look() -> None:
            act()
            for node in self.nodes.values():
                if node.domain is not None:
                    self._look(node)
            self._look_at_groups()

        super().at(instant, act_and_look)

    def _look(self, node) -> None:
        domain = node.domain
        for job in domain.jobs:
            paired = domain.core.jobs[job]
            if job in domain.scheduler:
                assert domain.scheduler.job(job).kept.get("slot") == paired.slot, (node.name, job)
            if paired.slot is not None:
                self.slots[f"{node.name}{job}"] += 1
                assert paired.state in WAITING
                # It is claimed for as long as patience lasts, and the mate's domain is asked for as long again; both
                # from the next start on, if the domain was down (a power failure may take back that the slot ended).
                patience = 2 * (node.settings.peer_patience + self.faults.delay + TIMEOUT)
                assert self.now <= max(paired.slot, node.began) + patience, (node.name, job)

    def _look_at_groups(self) -> None:
        named: dict[str, set[int]] = defaultdict(set)
        for node in self.nodes.values():
            for job in node.domain.core.jobs.values() if node.domain is not None else ():
                if job.slot is not None and job.group is not None:
                    assert job.group.slot, (node.name, job.id)
                    named[job.group.slot].add(job.slot)
        # An instant that has passed becomes the present.
        late = 2 * self.faults.delay + TIMEOUT * bool(self.faults.lose)
        assert all(max(instants) - min(instants) <= late for instants in named.values())
