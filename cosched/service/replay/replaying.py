"""What differs in a service whose manager replays a trace: its time, its timers, and the source of its jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from cosched.core.protocol import Domain
from cosched.service.clock import Clock
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.outside import ServiceOutside
from cosched.service.peers.peers import PeerClients
from cosched.service.replay.pace import Lockstep, submit_in_time
from cosched.service.replay.paced_outside import CallNotes, NotingClients, PacedOutside
from cosched.service.replay.scripted import ScriptedChanges
from cosched.service.replay.scripted_domain import ScriptedDomain
from cosched.service.replay.submissions import Submissions
from cosched.service.timers import Timers
from cosched_adapters.launcher import PlayingLauncher
from cosched_adapters.manager import SettingError
from cosched_adapters.replay_time import SharedTime


class Replay:
    """The replay of one domain's trace."""

    def __init__(self, manager: PlayingLauncher, peers: Collection[Domain]) -> None:
        """SettingError if jobs have mates on a domain that is not among `peers`."""
        unknown = {peer for job in manager.jobs if job.named for peer in job.named.others} - set(peers)
        if unknown:
            raise SettingError("pairs", f"names {min(unknown)}, but there is no [[peer]] of that name")
        self._manager, self._peers = manager, peers
        self.paced = manager.lockstep  # by a conductor, who sets the time
        self.clock = Clock(0, wall=manager.time.now, steady=manager.time.now)
        self.timers = Timers(Clock()) if self.paced else Timers(self.clock, manager.time.speed)
        self._calls = CallNotes()
        self.peers: Callable[..., PeerClients] = PeerClients  # makes the clients for other domains
        self.outside: Callable[..., ServiceOutside] = ServiceOutside  # makes what carries out the domain's decisions
        if isinstance(manager.time, SharedTime):
            self.peers = partial(NotingClients, self._calls)
            self.outside = partial(PacedOutside, manager, manager.time)
        self.lockstep: Lockstep | None = None

    def begin(self, domain: LiveDomain, outside: ServiceOutside) -> None:
        """Start submitting the trace's jobs, or wait for the conductor."""
        manager, time = self._manager, self._manager.time
        submissions = Submissions(domain, manager.jobs, manager.off)
        if self.paced:
            assert isinstance(time, SharedTime)
            assert isinstance(outside, PacedOutside)
            if manager.tells:
                outside.tell_all()
            jobs = ScriptedChanges(domain, manager, submissions, outside.settled)
            whole = ScriptedDomain(domain, submissions, self._calls, outside.settled, jobs.fail, self._peers)
            self.lockstep = Lockstep(domain, manager, time, outside, self._calls, submissions, jobs, whole)
        else:
            submit_in_time(domain, self.timers, submissions)


def replay_of(manager: object, peers: Collection[Domain]) -> Replay | None:
    """Return the replay of this manager; None if it is another kind of manager."""
    return Replay(manager, peers) if isinstance(manager, PlayingLauncher) else None
