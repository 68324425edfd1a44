"""Dialogues that a person can read, compared with what happens now (golden.py says how to write them again)."""

import pytest

from cosched.core.events import MayBeEarlier
from cosched.core.settings import Scheme
from cosched_sim.script import Action, ScriptedEvent
from tests.core import golden
from tests.core.crossing import Crossing
from tests.core.test_crossing_proposals import CrossingProposals
from tests.sim.core import dialogue
from tests.sim.core.replays import Jobs, Replay

HOLD, YIELD = Scheme.HOLD, Scheme.YIELD

FIGURE_2: tuple[Jobs, Jobs] = ({"a1": (0, 100, 6), "a2": (10, 100, 6)}, {"b2": (0, 100, 6), "b1": (10, 100, 6)})
ONE: tuple[Jobs, Jobs] = ({"a1": (0, 100, 4)}, {"y1": (0, 70, 8), "b1": (30, 100, 4)})

# name: (title, jobs of A and B, schemes of A and B, settings)
DIALOGUES = {
    "figure_2_without_timer": (
        "Figure 2 of Tang et al. without the release timer: a deadlock",
        *(FIGURE_2, (HOLD, HOLD), {"release_interval": 0}),
    ),
    "figure_2_with_timer": (
        "Figure 2 of Tang et al. with a release timer of 20 minutes: the deadlock is broken",
        *(FIGURE_2, (HOLD, HOLD), {}),
    ),
    "hold_hold": ("Hold-hold: the first holds, and both start when the second is ready", ONE, (HOLD, HOLD), {}),
    "hold_yield": (
        "Hold-yield: the job on the yielding machine is first and yields; the other holds until it is ready again",
        ({"x1": (0, 70, 8), "a1": (5, 100, 4)}, {"b1": (10, 100, 4), "y1": (20, 80, 8)}),
        *((HOLD, YIELD), {}),
    ),
    "yield_yield": (
        "Yield-yield: both yield in turn, until both have nodes at one moment",
        ({"a1": (0, 100, 6), "x1": (10, 70, 8)}, {"y1": (0, 40, 8), "b1": (5, 100, 6), "y2": (50, 60, 8)}),
        *((YIELD, YIELD), {}),
    ),
    "unsubmitted_mate": (
        "The mate is submitted after two releases, while the first job holds",
        ({"a1": (0, 100, 4)}, {"b1": (3000, 100, 4)}),
        *((HOLD, HOLD), {}),
    ),
    "patience_ends": (
        "The mate is submitted when the first job has lost its patience (700 s) and started alone",
        ({"a1": (0, 100, 4)}, {"b1": (3000, 100, 4)}),
        *((HOLD, HOLD), {"mate_patience": 700}),
    ),
}


@pytest.mark.parametrize("name", DIALOGUES)
def test_dialogue_of_two_machines(name):
    title, (a, b), schemes, settings = DIALOGUES[name]
    pairs = [(job, f"b{job[1:]}") for job in a if job.startswith("a")]  # x and y are alone
    sides = {"a_only": {"scheme": schemes[0]}, "b_only": {"scheme": schemes[1]}}
    run = Replay(a, b, pairs, **sides, **settings)
    machines = {"A": (str(schemes[0]), a), "B": (str(schemes[1]), b)}
    lines = [*dialogue.heading(title, machines, pairs), *dialogue.told(run.lines), *dialogue.ending(run)]
    golden.check(f"dialogues/{name}.txt", "\n".join(lines) + "\n")


# Slots: a1 is ready at 20, b1 at 50, when the jobs behind a1 have taken its nodes. name: (title, a1 and those, when a1
# is cancelled)
B_OF_SLOTS: Jobs = {"x1": (0, 50, 8, 100), "b1": (10, 100, 6)}
SLOTS = {
    "slot_kept": (
        "A slot: both have been ready, cannot start together, and agree on the earliest common instant",
        {"a1": (0, 100, 6), "y1": (20, 200, 8)},
        None,
    ),
    "slot_early": (
        "An early start: a job ends before its time, and the pair does not wait for its slot",
        {"a1": (0, 100, 6), "y1": (20, 90, 8, 200)},
        None,
    ),
    "slot_moved": (
        "A move: a job ends before its time, and the pair agrees on an earlier slot",
        {"a1": (0, 100, 8), "y1": (20, 60, 5, 200), "y2": (20, 130, 4)},
        None,
    ),
    "slot_dropped": (
        "A drop: a job with a slot is cancelled, and its mate starts alone",
        {"a1": (0, 100, 6), "y1": (20, 200, 8)},
        70,
    ),
}


@pytest.mark.parametrize("name", SLOTS)
def test_dialogue_of_a_slot(name):
    title, a, cancelled = SLOTS[name]
    script = [ScriptedEvent(cancelled, Action.CANCEL, "A", 0)] if cancelled else []
    run = Replay(a, B_OF_SLOTS, [("a1", "b1")], script=script, scheme=YIELD, slots=True)
    machines = {"A": ("yield, slots", a), "B": ("yield, slots", B_OF_SLOTS)}
    lines = [*dialogue.heading(title, machines, [("a1", "b1")]), *dialogue.told(run.lines), *dialogue.ending(run)]
    golden.check(f"dialogues/{name}.txt", "\n".join(lines) + "\n")


def test_dialogue_of_crossing_proposals():
    title = "Crossing proposals: both look for an earlier slot than 500, and that of A goes on"
    lines = [f"# {title}", "# -> X: a message to domain X, which is under way for a while", ""]
    world = CrossingProposals(dict.fromkeys("AB", MayBeEarlier), log=lambda *e: lines.append(dialogue.wanted(*e)))
    while world.pending:
        world.deliver(0)
    golden.check("dialogues/slot_crossing.txt", "\n".join(line for line in lines if line is not None) + "\n")


# name: (title, which of the messages under way arrives next, once each has asked to start the other)
CROSSINGS = {
    "crossing_calls": ("Crossing calls: both are ready, and each asks to start the other", [0, 0, 0, 0]),
    "crossing_calls_overtaken": (
        "Crossing calls: a1's start of b1 and the answer to it overtake b1's start of a1",
        [0, 1, 0, 0],
    ),
}


@pytest.mark.parametrize("name", CROSSINGS)
def test_dialogue_of_crossing_calls(name):
    title, order = CROSSINGS[name]
    lines = [f"# {title}", "# -> X: a message to domain X, which is under way for a while", ""]
    world = Crossing({"A": HOLD, "B": HOLD}, log=lambda *effect: lines.append(dialogue.wanted(*effect)))
    for index in [0] * 10 + order:
        world.deliver(index)
    assert (world.pending, sorted(world.starts)) == ([], ["a1", "b1"])
    golden.check(f"dialogues/{name}.txt", "\n".join(line for line in lines if line is not None) + "\n")
