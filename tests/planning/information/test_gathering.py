"""Sources in the order of preference, what is too old or wrong, and sources that fail or hang."""

import threading
from types import SimpleNamespace

import pytest

from cosched.planning.facts import Facts, Listed, grid_of
from cosched.planning.information import patience
from cosched.planning.information.gathering import Asked, gather
from cosched.planning.information.source import Reading, SourceError
from tests.planning.information.waited import threads_that_end
from tests.waiting import wait_until

MACHINES = [Listed("a.x", "x"), Listed("b.x", "x"), Listed("c.y", "y")]


class Known:
    def __init__(self, *readings, says=()):
        self.readings, self.says, self.asked = readings, says, 0

    def read(self, machines, tell):
        assert machines == MACHINES
        self.asked += 1
        for line in self.says:
            tell(line)
        return iter(self.readings)


class Broken:
    def __init__(self, error):
        self.error = error

    def read(self, _machines, _tell):
        raise self.error


class Hanging:
    def __init__(self):
        self.asked, self.end = 0, threading.Event()

    def read(self, _machines, _tell):
        self.asked += 1
        self.end.wait()
        return [Reading("speed", "a.x", 1.0)]


def gathered(*sources, max_age=None, timeout=30.0, now=1000.0) -> list[Asked]:
    asked = [Asked(f"source {number}", source, timeout, max_age) for number, source in enumerate(sources, 1)]
    gather(asked, MACHINES, lambda: now)
    return asked


def test_the_first_source_that_knows_answers_for_each_machine_and_kind_by_itself():
    """III.C: "Whenever possible, we support more than one source for each type of resource information"."""
    first = Known(Reading("speed", "a.x", 1.0), Reading("cpu", "b.x", 0.5), Reading("bandwidth", ("x", "y"), 7.0))
    second = Known(
        *(Reading(kind, name, 0.25) for kind in ("speed", "cpu", "memory") for name in ("a.x", "b.x")),
        Reading("speed", "c.y", 4.0),
        Reading("bandwidth", ("b.x", "c.y"), 9.0),
        Reading("latency", ("y", "x"), 0.5),
    )
    asked = gathered(first, second)
    grid, excluded = grid_of(MACHINES, [each.facts for each in asked], ("speed", "cpu", "memory"))
    a, b = grid.machines
    assert (a.speed, a.cpu, a.memory) == (1.0, 0.25, 0.25)
    assert (b.speed, b.cpu, b.memory) == (0.25, 0.5, 0.25)
    assert excluded == {"c.y": ["cpu", "memory"]}
    assert grid.link(a, b) is None
    assert [each.problems for each in asked] == [[], []]


def test_links_of_machines_come_before_those_of_segments_and_of_the_reverse_direction():
    bandwidth = {("a.x", "c.y"): 2.0, ("x", "y"): 3.0}
    latency = {("c.y", "a.x"): 0.1, ("y", "x"): 0.2, ("b.x", "c.y"): 0.3}
    links = {"bandwidth": {("x", "y"): 1.0}}, {"bandwidth": bandwidth, "latency": latency}
    facts = [Facts(links=known) for known in links]
    grid, _ = grid_of(MACHINES, facts, ())
    a, b, c = grid.machines
    assert grid.link(a, c) == (1.0, 0.1)  # the preferred source knows the segments
    assert grid.link(c, a) == (1.0, 0.1)  # the reverse pair of segments; the pair of machines
    assert grid.link(b, c) == (1.0, 0.3)
    assert grid.link(c, b) == (1.0, 0.2)  # segments in this direction come before machines in the other
    own, _ = grid_of(MACHINES, facts[1:], ())
    assert own.link(own.machines[0], own.machines[2]) == (2.0, 0.1)


def test_what_is_too_old_is_not_known_and_told():
    old = Known(
        Reading("speed", "a.x", 1.0, 939.0), Reading("speed", "b.x", 2.0, 940.0), Reading("speed", "c.y", 3.0, None)
    )
    (asked,) = gathered(old, max_age=60.0)
    assert asked.facts.machines == {"speed": {"b.x": 2.0, "c.y": 3.0}}
    assert asked.problems == ["source 1: 1 value older than 60 s"]


def test_what_is_no_value_of_its_kind_is_not_known_and_told():
    wrong = Known(
        Reading("speed", "a.x", 0.0),
        Reading("cpu", "a.x", 1.5),
        Reading("memory", "a.x", float("nan")),
        Reading("bandwidth", ("x", "y"), -1.0),
        Reading("colour", "a.x", 1.0),
        Reading("latency", "a.x", 1.0),
        says=("b.x: cold",),
    )
    (asked,) = gathered(wrong)
    assert asked.facts == Facts()
    assert [line.removeprefix("source 1: ") for line in asked.problems] == [
        "b.x: cold", "0 is not a valid speed of a.x", "1.5 is not a valid cpu of a.x",
        "nan is not a valid memory of a.x", "-1 is not a valid bandwidth of x to y",
        "'colour' of a.x is not a property of machines", "'latency' of a.x is not a property of machines",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "told"), [(SourceError("nobody there"), "nobody there"), (KeyError("x"), "has failed: KeyError: 'x'")]
)
def test_a_source_that_fails_knows_nothing_and_the_others_count(error, told):
    broken, known = gathered(Broken(error), Known(Reading("speed", "a.x", 2.0)))
    assert (broken.facts, broken.problems) == (Facts(), [f"source 1: {told}"])
    assert known.facts.machines == {"speed": {"a.x": 2.0}}


def test_a_source_that_returns_no_readings_knows_nothing():
    (asked,) = gathered(Known(Reading("speed", "a.x", "fast")))
    assert asked.problems == ["source 1: has failed: ValueError: could not convert string to float: 'fast'"]


def test_a_source_that_hangs_is_asked_once_and_knows_nothing_even_if_it_answers_late(monkeypatch):
    hanging, known = Hanging(), Known(Reading("speed", "a.x", 2.0))
    hangs = iter((True, False))
    monkeypatch.setattr(patience, "threading", SimpleNamespace(Thread=threads_that_end(lambda _: next(hangs))))
    first, second = gathered(hanging, known, timeout=0.2)
    wait_until(lambda: hanging.asked)
    hanging.end.set()
    assert (hanging.asked, known.asked) == (1, 1)
    assert (first.facts, first.problems) == (Facts(), ["source 1: no answer within 0.2 s"])
    assert second.facts.machines == {"speed": {"a.x": 2.0}}
