"""Live replays in lock-step equal the simulation as jobs are cancelled, replaced, queued again and end with others."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cosched.core.settings import Scheme
from cosched.validation.schemes import SchemeChoice
from cosched_sim.configuration import Domain, ReplayConfig
from cosched_sim.script import Action
from cosched_sim.workload.jobs import Workload
from tests.installed import PAPERS
from tests.sim.live.replays import CoreReplay, assert_equal
from tests.tiers import seeds, soaked

NODES = 8
Rows = list[tuple[int, int, int, int]]  # submit, run, nodes, requested


def domain(name: str, rows: Rows, **rules: Any) -> Domain:
    """A domain whose jobs have the ids 1, 2, ..."""
    ordered = np.array(sorted(rows), np.int64)
    trace = Workload(name, np.arange(1, len(rows) + 1), *ordered.T)
    return Domain(name=name, trace=trace, nodes=NODES, **rules)


@pytest.fixture
def replayed(threaded, tmp_path):
    """Replays with these rows of a pairs file; returns (state, start, end) by `DOMAIN:ID`."""

    def replay(chosen: list[Domain], pairs: str, script: str) -> dict[str, tuple[str, int | None, int | None]]:
        (tmp_path / "pairs.csv").write_text(pairs)
        config = ReplayConfig(domains=tuple(chosen), pairs=tmp_path / "pairs.csv", script=script)
        simulated = assert_equal(config, threaded)
        columns = ("domain", "job_id", "state", "start", "end")
        return {
            f"{name}:{job}": tuple(rest)
            for name, job, *rest in zip(*(simulated.jobs[column].to_list() for column in columns), strict=True)
        }

    return replay


# A pair, and a group of three: a:1 (6 of 8 nodes) is ready at 10, and its mates queue behind a job until 500

QUIET = {"release_jitter": "0", "max_held_fraction": "1", "release_interval": 1200}
WAITS = [(10, 100, 6, 100)]
QUEUES = [(0, 500, 8, 500), (10, 100, 6, 100), (20, 100, 6, 100)]
GROUPS = {"pair": "a,b\n1,2\n", "group": "a,b,c\n1,2,1\n"}


def holders(of: str, **rules: Any) -> list[Domain]:
    """Domains of a pair or a group: all wait for the second job of b."""
    rows = {"a": WAITS, "b": QUEUES, "c": WAITS}
    names = GROUPS[of].partition("\n")[0].split(",")
    return [domain(name, rows[name], **QUIET, **rules) for name in names]


@pytest.mark.parametrize(
    "case",
    soaked(
        [
            ("group", "100 cancel b 2\n", {"successor_patience": 60, "successor_hold": 20}, 160),
            ("group", "15 replace b 2 3\n", {"successor_patience": 60}, 500),  # by one that is not submitted yet
            ("pair", "5 cancel b 2\n", {"mate_patience": 30}, 10),  # before it is submitted
            ("pair", "100 replace b 2 3\n", {}, 500),
            ("group", "100 cancel b 2 final\n", {"successor_patience": 60}, 100),
            ("pair", "100 unlink a 1\n", {"mate_patience": 120}, 100),
            ("pair", "100 fail b 1\n", {}, 100),
            ("group", "700 cancel b 2\n", {}, 500),  # in vain
        ],
        4,
    ),
)
def test_holders_hear_at_the_same_instant_as_in_a_simulation(replayed, case):
    of, lines, rules, start = case
    assert replayed(holders(of, **rules), GROUPS[of], lines)["a:1"][1] == start


def test_a_place_is_taken_once_and_nobody_takes_two(replayed):
    """The first time b:3 has the place of b:2."""
    rows = {"a": [*WAITS, (20, 100, 2, 100)], "b": [*QUEUES, (30, 100, 6, 100), (40, 100, 6, 100)]}
    both = [domain(name, rows[name], **QUIET) for name in "ab"]
    told = replayed(both, "a,b\n1,2\n2,4\n", "100 replace b 2 3\n110 replace b 2 5\n120 replace b 4 3\n")
    assert told["b:2"][0] == "cancelled"
    assert told["a:1"][1] == told["b:3"][1] == 500
    assert told["a:2"][1] == told["b:4"][1] == 600


@pytest.mark.parametrize("case", soaked([("group", 1210), ("pair", 100)], 1))
def test_a_job_starts_alone_as_in_a_simulation(replayed, case):
    """Its mate, or a member, is unlinked; others of a group wait until a hold ends after their patience."""
    of, start = case
    assert replayed(holders(of, mate_patience=120), GROUPS[of], "100 unlink b 2\n")["a:1"][1] == start


# Jobs that run follow others

RUN = {"a": [(0, 300, 6, 300)], "b": [(0, 200, 6, 200), (40, 10, 2, 10)], "c": [(0, 300, 2, 300), (1, 250, 6, 250)]}


@pytest.mark.parametrize(
    "case",
    soaked(
        [
            ("abc", {"ends_with": "a:b"}, "90 cancel b 1\n", 90),
            ("ab", {"fail_together": "yes"}, "90 fail a 1\n", 90),
            ("abc", {"if_requeued": "requeue"}, "60 requeue b 1\n", 360),
            ("ab", {"ends_with": "a:b"}, "", 200),
            ("ab", {"ends_with": "a:b"}, "60 requeue b 1\n", 260),
            ("abc", {"fail_together": "yes"}, "90 fail b 1\n", 90),
            ("ab", {"if_requeued": "requeue", "together_for": "30"}, "60 requeue b 1\n", 300),
            ("ab", {"if_requeued": "end"}, "60 requeue b 1\n", 60),
            ("ab", {"if_requeued": "requeue"}, "60 requeue b 1\n61 requeue a 1\n80 requeue b 1\n", 380),
        ],
        3,
    ),
)
def test_running_jobs_follow_others_at_the_same_instant_as_in_a_simulation(replayed, case):
    names, terms, lines, end = case
    chosen = [domain(name, RUN[name], **QUIET) for name in names]
    header, row = ",".join([*names, *terms]), ",".join(["1" for _ in names] + [*terms.values()])
    assert replayed(chosen, f"{header}\n{row}\n", f"{lines}\n")["a:1"][2] == end


# The cases of life.md (what a kill, or a job that never adapts, does is no part of a replay), at exactly these instants

LONG = 5000
CASE_1 = "100 cancel b 2\n"
START, WAIT, CANCEL = {"on_member_lost": "start"}, {"on_member_lost": "wait"}, {"on_member_lost": "cancel"}


def patience(seconds: int, hold: int | None = None) -> dict[str, int]:
    return {"successor_patience": seconds, "successor_hold": seconds if hold is None else hold}


@pytest.mark.parametrize(
    ("rules", "line", "a1", "a2"),
    [
        (START, CASE_1, ("completed", 100, 200), 200),
        (WAIT, CASE_1, ("never_started", None, None), 100),
        (CANCEL, CASE_1, ("cancelled", None, 100), 100),
        (START | patience(60), CASE_1, ("completed", 160, 260), 260),
        (WAIT | patience(60), CASE_1, ("never_started", None, None), 160),
        (CANCEL | patience(60), CASE_1, ("cancelled", None, 160), 160),
        (START | patience(60), "100 cancel b 2 final\n", ("completed", 100, 200), 200),
    ],
)
def test_case_1(replayed, rules, line, a1, a2):
    """A second job of a, which needs all nodes, shows until when the first one has some."""
    both = [domain("a", [*WAITS, (20, 10, 8, 10)], **QUIET, **rules), domain("b", QUEUES, **QUIET, **rules)]
    told = replayed(both, GROUPS["pair"], line)
    assert (told["a:1"], told["a:2"][1]) == (a1, a2)


@pytest.mark.parametrize(("hold", "a2"), [(60, 600), (20, 120)])
def test_case_2(replayed, hold, a2):
    a, b = [*WAITS, (20, 10, 8, 10)], [*QUEUES[:2], (130, 100, 6, 100)]
    both = [domain(name, rows, **QUIET, **patience(60, hold)) for name, rows in (("a", a), ("b", b))]
    told = replayed(both, GROUPS["pair"], f"{CASE_1}130 replace b 2 3\n")
    assert (told["a:1"][1], told["b:3"][1], told["a:2"][1]) == (500, 500, a2)


@pytest.mark.parametrize("seconds", [0, 60])
def test_case_3(replayed, seconds):
    told = replayed(holders("group", **patience(seconds)), GROUPS["group"], CASE_1)
    assert told["a:1"][1] == told["c:1"][1] == 100 + seconds


AGAIN, RUNS_ON, ENDS = ("completed", 0, 70 + LONG), ("completed", 0, LONG), ("cancelled", 0, 60)


@pytest.mark.parametrize(
    ("rules", "terms", "a1"),
    [
        ({}, "continue,", RUNS_ON),
        ({}, "requeue,", AGAIN),
        ({}, "requeue,60", AGAIN),
        ({}, "requeue,30", RUNS_ON),
        ({}, "end,", ENDS),
        ({"on_member_requeued": "requeue"}, ",", AGAIN),
        ({"on_member_requeued": "end"}, ",", ENDS),
    ],
)
def test_case_5(replayed, rules, terms, a1):
    """b:2 comes before b:1, which begins anew at 70 therefore: it is shorter."""
    b = domain("b", [(0, LONG, 8, LONG), (5, 10, 8, 10)], policy="shortest-first", **QUIET)
    both = [domain("a", [(0, LONG, 8, LONG)], **QUIET, **rules), b]
    told = replayed(both, f"a,b,if_requeued,together_for\n1,1,{terms}\n", "60 requeue b 1\n")
    assert (told["a:1"], told["b:1"]) == (a1, AGAIN)


@pytest.mark.parametrize(
    ("run", "lines", "end"),
    [
        (900, "\n", 900),
        (LONG, "900 fail sim 1\n", 900),
        (LONG, "900 cancel sim 1\n", 900),
        (900, "800 cut sim vis 200\n", 1000),
    ],
)
def test_case_6(replayed, run, lines, end):
    both = [domain("sim", [(0, run, 8, LONG)], **QUIET), domain("vis", [(0, LONG, 8, LONG)], **QUIET)]
    told = replayed(both, "sim,vis,ends_with\n1,1,vis:sim\n", lines)
    assert (told["sim:1"][2], told["vis:1"]) == (900, ("completed", 0, end))


# Random lives, with many events at the same instants

LESS = [Action.CANCEL, Action.REQUEUE, Action.REQUEUE, Action.FAIL, Action.UNLINK]
ACTIONS = [Action.CANCEL, *LESS, Action.REPLACE]

BATCH = [{"policy": "fcfs"}, {"policy": "wfp", "backfill": "easy"}, {"policy": "wfp", "backfill": "conservative"}]
OF_PAPERS = [{"scheduler": "fluid"}, {"scheduler": "molding", "moldable_share": "0.5"}] if PAPERS else []
KINDS = [*BATCH, *OF_PAPERS]


def some_domains(rng: Random, names: str, kinds: Sequence[dict[str, str]] = KINDS, **more: Any) -> list[Domain]:
    patience = rng.choice([0, 0, 20])
    rules = {
        "on_member_lost": rng.choice(["start", "wait", "cancel"]),
        "successor_patience": patience,
        "successor_hold": rng.choice([0, patience // 2, patience]),
        "on_member_requeued": rng.choice(["continue", "requeue", "requeue", "end"]),
        "max_requeues": rng.choice([1, 100]),
        "release_interval": rng.choice([7, 20, 60]),
        "max_held_fraction": rng.choice(["0.5", "1"]),
        "mate_patience": rng.choice([None, 5, 30]),
        **more,
    }
    chosen = []
    for name in names:
        kind = rng.choice(kinds)
        scheme = rng.choice(["hold", "hold", "yield", "hold" if kind.get("scheduler") == "molding" else "meet"])
        rows = []
        for _ in range(rng.randint(4, 12)):
            run = rng.randint(1, 30)
            rows.append((rng.randrange(40), run, rng.randint(1, NODES), run + rng.randrange(30)))
        chosen.append(domain(name, rows, scheme=scheme, **kind, **rules))
    return chosen


def some_pairs(rng: Random, chosen: list[Domain]) -> tuple[str, dict[str, list[int]]]:
    """A pairs file, some rows of which have terms, and the ids of jobs that are in none, by domain."""
    free = {each.name: each.trace.job_id.tolist() for each in chosen}
    lines = [",".join([*free, "ends_with", "fail_together", "if_requeued", "together_for"])]
    for _ in range(rng.randint(2, 8)):
        names = [name for name, ids in free.items() if ids]
        if len(names) < 2:
            break
        some = rng.sample(names, rng.randint(2, len(names)))
        taken = {name: str(free[name].pop(rng.randrange(len(free[name])))) for name in some}
        requeued = rng.choice(["", "", "requeue", "end"])
        terms = [
            rng.choice(["", f"{some[0]}:{some[1]}"]),
            rng.choice(["", "", "yes"]),
            requeued,
            rng.choice(["", "10"]) if requeued == "requeue" else "",
        ]
        lines.append(",".join([*(taken.get(name, "") for name in free), *terms]))
    return "\n".join(lines) + "\n", free


def some_script(rng: Random, chosen: list[Domain], free: dict[str, list[int]], actions: Sequence[Action] = ACTIONS):
    lines = []
    paired = {each.name: sorted(set(each.trace.job_id.tolist()).difference(free[each.name])) for each in chosen}
    for _ in range(rng.randint(2, 9)):
        each, action = rng.choice(chosen), rng.choice(actions)
        among = paired[each.name] if action in (Action.UNLINK, Action.REPLACE) else each.trace.job_id.tolist()
        if not among or (action is Action.REPLACE and not free[each.name]):
            continue
        job, more = rng.choice(among), ""
        if action is Action.REPLACE:
            more = f" {free[each.name].pop(0)}"
        if action is Action.CANCEL and rng.random() < 0.3:
            more = " final"
        lines.append(f"{rng.randrange(80)} {action} {each.name} {job}{more}")
    return "".join(f"{line}\n" for line in lines) + "\n"


def some_faults(rng: Random, chosen: list[Domain]) -> str:
    """Lines of a script about whole domains, which have batch schedulers, and their links."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        at, each = rng.randrange(60), rng.choice(chosen)
        peer = rng.choice([other.name for other in chosen if other is not each])
        nodes, later = rng.randint(1, NODES), at + rng.randint(0, 40)
        lines += rng.choice(
            [
                [f"{at} down {each.name} {nodes}", f"{later} up {each.name} {nodes}"],
                [f"{at} drain {each.name} {nodes}", f"{later} up {each.name} {rng.randint(nodes, NODES)}"],
                [f"{at} cut {each.name} {peer} {rng.randint(1, 40)}"],
                [] if each.scheme is SchemeChoice.MEET else [f"{at} scheme {each.name} {rng.choice(list(Scheme))}"],
            ]
        )
    return "".join(f"{line}\n" for line in lines)


AT_ITS_SLOT = 41006  # where pairs meet, a job is ready at its slot and yields: nobody is passed over for that any more


@pytest.mark.parametrize("seed", [AT_ITS_SLOT, *seeds(1, 100)])
def test_domains_without_nodes_and_links_live_as_in_the_compiled_world(threaded, tmp_path, seed):
    rng = Random(f"live faults {seed}")
    for number in range(4):
        chosen = some_domains(rng, "ABC"[: rng.choice([2, 3])], BATCH, peer_grace=rng.choice([0, 10, 40]))
        pairs, free = some_pairs(rng, chosen)
        script = some_script(rng, chosen, free, LESS) + some_faults(rng, chosen)
        path = tmp_path / f"{number}.csv"
        path.write_text(pairs)
        assert_equal(ReplayConfig(domains=tuple(chosen), pairs=path, script=script, events=True), threaded)


@pytest.mark.parametrize("seed", seeds(1, 100))
def test_random_lives_of_pairs_and_groups(threaded, tmp_path, seed):
    rng = Random(f"live lives {seed}")
    for number in range(4):
        chosen = some_domains(rng, "ABC"[: rng.choice([2, 3])])
        pairs, free = some_pairs(rng, chosen)
        script = some_script(rng, chosen, free)
        path = tmp_path / f"{number}.csv"
        path.write_text(pairs)
        assert_equal(ReplayConfig(domains=tuple(chosen), pairs=path, script=script), threaded, CoreReplay)


RECORDED = [2, 8, 34, 38, 46, 49, 51, 56]  # each of them differed once


def some_life(rng: Random, path: Path, actions: Sequence[Action]) -> ReplayConfig:
    """Batch domains whose jobs are queued again with what yields and turns have earned them."""
    boost = rng.choice([Decimal(0), Decimal("0.5"), Decimal(3)])
    chosen = some_domains(rng, "ABC"[: rng.choice([2, 3])], BATCH, yield_boost=boost)
    pairs, free = some_pairs(rng, chosen)
    script = some_script(rng, chosen, free, actions)
    path.write_text(pairs)
    return ReplayConfig(domains=tuple(chosen), pairs=path, script=script)


@pytest.mark.parametrize("seed", [*RECORDED, *seeds(0, 3000)])
def test_batch_domains_live_as_in_the_compiled_world(tmp_path, seed):
    """What services go by, in this process."""
    assert_equal(some_life(Random(f"the same lives {seed}"), tmp_path / "pairs.csv", LESS), CoreReplay)


# A job is to be asked again a second later, since a peer asks first whether another in its place has ended: nobody
# else starts meanwhile. Or the end of a patience starts others, while another domain's hold ends at the same instant.
REPLACED = [261, 2573, 2811, 2814, 3764, 5304, 5512, 5661]  # each of them differed once


@pytest.mark.parametrize("seed", [*REPLACED, *seeds(0, 3000)])
def test_batch_domains_whose_jobs_are_replaced_live_as_in_the_compiled_world(tmp_path, seed):
    rng = Random(f"the same lives with replacements {seed}")
    assert_equal(some_life(rng, tmp_path / "pairs.csv", ACTIONS), CoreReplay)
