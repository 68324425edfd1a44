"""Hand-worked cases of wanted jobs and slots in one domain, first come first served, EASY, ten nodes.

Those of two domains are in tests/reference/meet_cases.py. A job is (submit, requested, nodes); a ready job yields
unless a case says otherwise.
"""

import pytest

from tests.core.meeting.fast import FastDomain
from tests.core.meeting.slow import Job, SlowDomain


class Scene:
    """A domain whose jobs run as long as they requested; `mates` are paired."""

    def __init__(self, kind, jobs: list[tuple[int, int, int]], mates: set[int], budget: str = "0.5") -> None:
        self.jobs = [
            Job(row, submit, nodes, requested, requested, row in mates)
            for row, (submit, requested, nodes) in enumerate(jobs)
        ]
        self.domain = kind(10, False, "easy", budget, self.jobs)
        self.now = -1
        self.start_of: dict[int, int] = {}
        self.ready: list[tuple[int, int]] = []
        self.starts: set[int] = set()  # mates that start as soon as they are ready

    def until(self, instant: int) -> "Scene":
        """Go on to the end of this instant."""
        while self.now < instant:
            self.now += 1
            for row, start in self.start_of.items():
                if start + self.jobs[row].run == self.now:
                    self.domain.end(row, self.now)
            for job in self.jobs:
                if job.submit == self.now:
                    self.domain.submit(job.row)
            self.iterate()
        return self

    def iterate(self) -> None:
        self.domain.iterate(self.now, self.turn)
        for row, (start, _) in self.domain.running().items():
            self.start_of[row] = start

    def turn(self, row: int, block: int | None) -> None:
        """A mate is ready, or could be before its slot."""
        if block is None:
            return
        self.ready.append((self.now, row))
        if row in self.starts:
            self.domain.run_job(row, self.now)
        else:
            self.domain.pass_over(row, self.now)


kinds = pytest.mark.parametrize("kind", [SlowDomain, FastDomain])


@kinds
def test_trying_a_job_makes_it_wanted_before_the_dry_run(kind):
    assert Scene(kind, [(0, 100, 6), (10, 100, 10), (30, 105, 4)], {2}).until(30).domain.try_start(2, 30)


@kinds
def test_a_wanted_job_whose_owner_has_used_up_the_share_starts_in_its_turn(kind):
    scene = Scene(kind, [(0, 40, 4), (0, 100, 6), (10, 100, 10), (30, 105, 4)], {3})
    scene.starts = {3}
    scene.until(30).domain.keep_in_turn(3, True)
    assert not scene.domain.try_start(3, 30)
    assert scene.until(200).start_of == {0: 0, 1: 0, 2: 100, 3: 200}


@kinds
def test_by_how_much_the_first_job_is_pushed(kind):
    """The two wanted jobs have one sum: the first pushes it from 100 to 130, the second from there to 145."""
    scene = Scene(kind, [(0, 100, 5), (10, 100, 10), (30, 100, 2), (31, 114, 2)], {2, 3}).until(30)
    assert scene.domain.try_start(2, 30)
    assert scene.domain.pushes(2, 30, tried=True) == 30
    scene.until(31)
    assert scene.domain.try_start(3, 31)
    assert scene.domain.pushes(3, 31, tried=True) == 15


@kinds
def test_a_job_in_its_turn_pushes_nobody(kind):
    scene = Scene(kind, [(0, 100, 6), (10, 100, 10), (20, 50, 4)], {2}, budget="0").until(20)
    assert scene.domain.try_start(2, 20)
    assert scene.domain.pushes(2, 20, tried=True) is None


@kinds
def test_a_slot_delays_no_reservation_before_it(kind):
    scene = Scene(kind, [(0, 100, 6), (10, 100, 8), (20, 50, 4)], {2}).until(20)
    assert scene.domain.quote(2, 20, 20) == (20, 0)  # it ends before 100
    assert scene.domain.quote(2, 60, 20) == (200, 0)
    assert not scene.domain.book(2, 60, 20)


@kinds
def test_a_job_that_does_not_start_at_its_slot_keeps_it(kind):
    scene = Scene(kind, [(0, 100, 6), (10, 50, 6), (100, 60, 5)], {1}).until(10)
    assert scene.domain.book(1, 100, 10)
    scene.until(99)
    scene.domain.end(0, 100)
    del scene.start_of[0]
    assert scene.domain.claim(1, 100)
    scene.until(110)
    assert 2 not in scene.start_of  # the ready job has its nodes
    scene.domain.pass_over(1, 110)
    scene.iterate()
    assert scene.domain.slot(1) == (100, 0)
    assert 2 not in scene.start_of  # the slot has them
    assert scene.domain.claim(1, 110)
    scene.domain.run_job(1, 110)
    assert scene.until(160).start_of == {1: 110, 2: 160}


@kinds
def test_a_ready_job_has_its_own_nodes(kind):
    """It is quoted now, though its nodes are busy, and its slot is planned when it has given them back."""
    scene = Scene(kind, [(0, 100, 6), (10, 50, 4)], {1}).until(9)
    quoted = []

    def turn(row, _):
        quoted.append(scene.domain.quote(row, 10, 10))
        quoted.append(scene.domain.book(row, 10, 10))
        scene.domain.pass_over(row, 10)

    scene.domain.submit(1)
    scene.domain.iterate(10, turn)
    assert quoted == [(10, 0), True]
    assert scene.domain.claim(1, 10)
