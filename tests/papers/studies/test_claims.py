"""Claims decided on results made by hand: each can hold, and can fail with a reason that names the place."""

from zlib import crc32

import pytest

from cosched_papers.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched_papers.studies.tang2011.claims import claims
from cosched_sim.studies.verdicts import FAILS, HOLDS, OPEN, Verdict
from tests.papers.studies.by_hand import MINUTE, Change, Row, results, row

HOUR = 3600


def decide(text: str, change: Change, extra: list[Row] | None = None) -> Verdict:
    claim = next(claim for claim in claims() if claim.text == text)
    return claim.check(results(change, extra))


def as_in_the_paper(made: Row) -> None:
    """Figures 3 to 10 as section V describes them."""
    load, share = (made["point"], 0) if made["experiment"] == BY_LOAD else (0.5, made["point"])
    holds = dict(zip(("intrepid", "eureka"), (letter == "H" for letter in made["schemes"]), strict=False))
    high = load == 0.75
    for machine in ("intrepid", "eureka") if made["schemes"] != "none" else ():
        hold = holds[machine]
        worse = hold and load > 0.25
        both = made["schemes"] == "HH"
        big = machine == "intrepid"
        extra = (1 + 4 * (load > 0.25) + (20 if high and big else high)) * (1 + 0.2 * worse + 0.05 * both)
        if share:
            extra = 2 + 30 * min(share, 0.2) + 2 * share + both * share
            extra += (60 * (share > 0.2) + 3 * (share >= 0.1)) * hold
        sync = (200 * load if big else 60 + 10 * share) + 10 * (not hold) + 10 * share
        sync += 10 * (both and high and not big)  # the exception of figure 5(b)
        lost = load if big or share else {0.25: 0.7, 0.5: 0.9, 0.75: 0.3}[load]
        held = (1000 * lost + 5000 * share) * HOUR * hold
        made[f"{machine}.all.wait_s.mean"] += extra * MINUTE
        made[f"{machine}.all.slowdown.mean"] += extra / 14
        made[f"{machine}.paired.sync_s.mean"] = sync * MINUTE
        made[f"{machine}.held_node_seconds"] = held


def deadlocks(alive: str = "") -> list[Row]:
    extra = []
    for name in ("span", "span, no timer"):
        for replication in (1, 2):
            made = row(name, 60, "HH", replication)
            if "no timer" in name:
                made |= {f"{machine}.never_started": 9 for machine in ("intrepid", "eureka") if machine != alive}
            extra.append(made)
    return extra


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.text)
def test_what_the_paper_describes_holds(claim):
    verdict = claim.check(results(as_in_the_paper, deadlocks()))
    assert verdict.holds, verdict.reason
    assert verdict.ours
    assert not verdict.reason


def pairs_apart(made: Row) -> None:
    made["pairs.together"] = 9


def no_deadlock(made: Row) -> None:
    made |= {"intrepid.never_started": 0, "eureka.never_started": 0}


def stuck(made: Row) -> None:
    made["eureka.never_started"] = 1


def mirrored(made: Row) -> None:
    """Everything the other way round: coscheduling shortens what it lengthens in the paper."""
    as_in_the_paper(made)
    for machine in ("intrepid", "eureka"):
        made[f"{machine}.all.wait_s.mean"] = 120 * MINUTE - made[f"{machine}.all.wait_s.mean"]
        made[f"{machine}.all.slowdown.mean"] = 12 - made[f"{machine}.all.slowdown.mean"]
        made[f"{machine}.paired.sync_s.mean"] = 300 * MINUTE - made[f"{machine}.paired.sync_s.mean"]
        made[f"{machine}.held_node_seconds"] = 9e9 - made[f"{machine}.held_node_seconds"]


def tenfold(made: Row) -> None:
    """All of the paper's effects, ten times."""
    as_in_the_paper(made)
    for machine in ("intrepid", "eureka"):
        made[f"{machine}.all.wait_s.mean"] += 9 * (made[f"{machine}.all.wait_s.mean"] - 60 * MINUTE)
        made[f"{machine}.all.slowdown.mean"] += 9 * (made[f"{machine}.all.slowdown.mean"] - 6)
    made["intrepid.paired.sync_s.mean"] += made["point"] * 9000 * MINUTE * (made["experiment"] == BY_SHARE)


def hold_everywhere_worse(made: Row) -> None:
    as_in_the_paper(made)
    for machine, letter in zip(("intrepid", "eureka"), made["schemes"], strict=False):
        made[f"{machine}.all.wait_s.mean"] += 3 * MINUTE * (letter == "H")


def worse_at_a_third(made: Row) -> None:
    as_in_the_paper(made)
    made["intrepid.all.wait_s.mean"] += 60 * MINUTE * (made["point"] == 0.33)


def slowdown_elsewhere(made: Row) -> None:
    as_in_the_paper(made)
    if made["schemes"] != "none" and made["point"] == 0.25:
        made["intrepid.all.slowdown.mean"] += 50


FALSE: dict[str, tuple[Change, list[Row]]] = {
    "All pairs start together, whatever the schemes, loads and shares": (pairs_apart, []),
    "Without the release timer, hold-hold is likely to deadlock in more than 10 days": (no_deadlock, deadlocks()),
    "In a deadlock the queues of both machines keep growing, and no job starts": (lambda _: None, deadlocks("eureka")),
    "With the timer deadlocks never happen": (stuck, []),
    "A cap below the whole machine is not needed": (stuck, []),
    "Yielding without a limit starves nobody": (stuck, []),
    "Slowdowns follow the waits": (slowdown_elsewhere, []),
    "Intrepid's slowdown rises significantly under a high load of Eureka only": (tenfold, []),
    "Eureka's waits are close to the base at any load": (tenfold, []),
    "Eureka's slowdowns are close to the base": (tenfold, []),
    "The impact on overall performance is reasonably low: mostly under 10 minutes on Intrepid": (tenfold, []),
    "At a low load, hold does not always cost more wait or slowdown than yield": (hold_everywhere_worse, []),
    "Under 20 % paired, Eureka is not significantly impacted": (tenfold, []),
    "Intrepid's sync time depends more on the load than on the share paired": (tenfold, []),
    "With yield, a third paired is like a fifth paired on Intrepid": (worse_at_a_third, []),
}


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.text)
def test_the_contrary_does_not_hold(claim):
    change, extra = FALSE.get(claim.text, (mirrored, []))
    verdict = claim.check(results(change, extra))
    assert not verdict.holds
    assert verdict.reason


def at(made: Row, experiment: str, point: float, schemes: str) -> bool:
    return (made["experiment"], made["point"]) == (experiment, point) and made["schemes"] in schemes.split()


def small_no_more(made: Row) -> None:
    """The wait grows at a high load, but it is great at a low one, too."""
    if made["experiment"] == BY_LOAD and made["schemes"] != "none":
        made["intrepid.all.wait_s.mean"] += 30 * MINUTE


def no_exception(made: Row) -> None:
    if at(made, BY_LOAD, 0.75, "HH"):
        made["eureka.paired.sync_s.mean"] -= 10 * MINUTE


def loss_rises(made: Row) -> None:
    """The loss is not unrelated to the load."""
    if made["experiment"] == BY_LOAD:
        made["eureka.held_node_seconds"] *= {0.25: 0.1, 0.5: 1, 0.75: 9}[made["point"]]


def loss_falls(made: Row) -> None:
    """It is least at a high load, but not unrelated to it."""
    if made["experiment"] == BY_LOAD:
        made["eureka.held_node_seconds"] *= {0.25: 9, 0.5: 1, 0.75: 0.1}[made["point"]]


def same_wait(made: Row) -> None:
    """Intrepid's slowdown grows with the share, but not its wait."""
    if made["experiment"] == BY_SHARE and made["schemes"] != "none":
        made["intrepid.all.wait_s.mean"] = 61 * MINUTE


def same_slowdown(made: Row) -> None:
    if made["experiment"] == BY_SHARE:
        made["intrepid.all.slowdown.mean"] = 6.0


def a_little_longer(made: Row) -> None:
    """Intrepid waits longer under hold at a third, but not considerably."""
    if made["experiment"] == BY_SHARE and made["point"] == 0.33 and made["schemes"] != "none":
        made["intrepid.all.wait_s.mean"] = (60 + 2 * (made["schemes"][0] == "H")) * MINUTE


def yield_rises_too(made: Row) -> None:
    if at(made, BY_SHARE, 0.33, "HY YY"):
        made["eureka.all.wait_s.mean"] += 60 * MINUTE


def much_at_a_fifth(made: Row) -> None:
    if made["experiment"] == BY_SHARE and made["point"] in (0.2, 0.33) and made["schemes"] != "none":
        made["eureka.all.wait_s.mean"] += 40 * MINUTE * (1 if made["point"] == 0.2 else 2)


def no_loss(made: Row) -> None:
    made["eureka.held_node_seconds"] = 0


def low_load_too(made: Row) -> None:
    """The slowdown also rises at a low load."""
    if made["experiment"] == BY_LOAD and made["schemes"] != "none":
        made["intrepid.all.slowdown.mean"] += 3


HALVES = [
    ("The extra wait on Intrepid is small at low and medium loads of Eureka and grows at a high one", small_no_more),
    ("Eureka: a local hold means less sync time, except at 0.75 with Intrepid on hold", no_exception),
    ("Eureka's loss is unrelated to its load, and least at the high one", loss_rises),
    ("Eureka's loss is unrelated to its load, and least at the high one", loss_falls),
    ("Intrepid's slowdown follows its wait", same_wait),
    ("Intrepid's slowdown follows its wait", same_slowdown),
    ("With a third of the jobs paired, Intrepid waits considerably longer under hold", a_little_longer),
    ("With a third paired, Eureka waits noticeably longer under hold, and as at 20 % under yield", yield_rises_too),
    ("Coscheduling has no significant impact at 20 % paired, and a noticeable one at 33 %", much_at_a_fifth),
    ("Hold trades service units for sync time", no_loss),
    ("Intrepid's slowdown rises significantly under a high load of Eureka only", low_load_too),
]


@pytest.mark.parametrize(("text", "change"), HALVES, ids=[change.__name__ for _, change in HALVES])
def test_a_claim_is_decided_by_all_that_it_says(text, change):
    """Each half alone is as in the paper, the other one is not."""

    def half(made: Row) -> None:
        as_in_the_paper(made)
        change(made)

    assert decide(text, as_in_the_paper).word == HOLDS
    assert decide(text, half).word == FAILS


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.text)
def test_what_varies_too_much_is_open(claim):
    """Months differ by far more than schemes do: nothing that has an interval is decided."""

    def noisy(made: Row) -> None:
        as_in_the_paper(made)
        sign = 1 if made["replication"] == 1 else -1
        swing = sign * (1 + crc32(f"{made['experiment']} {made['point']} {made['schemes']}".encode()) % 97)
        for machine in ("intrepid", "eureka"):
            for name, size in (("all.wait_s.mean", 60.0), ("all.slowdown.mean", 1.0), ("paired.sync_s.mean", 60.0)):
                made[f"{machine}.{name}"] += 1000 * size * swing
            made[f"{machine}.held_node_seconds"] += 1e12 * swing

    counted = claim.where == "V-B"
    assert claim.check(results(noisy, deadlocks())).word == (HOLDS if counted else OPEN)


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.text)
def test_without_results_no_claim_holds(claim):
    def fail(made: Row) -> None:
        made["error"] = "not run"

    verdict = claim.check(results(fail))
    assert not verdict.holds
    assert verdict.reason


def test_exceptions_are_named_with_what_was_measured():
    def change(made: Row) -> None:
        as_in_the_paper(made)
        if (made["experiment"], made["point"], made["schemes"]) == (BY_LOAD, 0.25, "HY"):
            made["intrepid.all.wait_s.mean"] -= (4 + made["replication"]) * MINUTE

    verdict = decide("Intrepid waits longer with coscheduling, always", change)
    assert verdict.reason == "1 of 12 is open: HY at 0.25 (-4.50 ± 6.35 min)"
