"""The numbers that section V states about its workloads and results, with its words; here V-A to V-D."""

from __future__ import annotations

from collections.abc import Iterator

from cosched.sim.studies.tang2011.cases import BY_LOAD, BY_SHARE
from cosched.sim.studies.tang2011.paper.numbers_by_share import statements_by_share
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import (
    EXTRA,
    JOBS,
    LOAD,
    LOSS,
    LOSS_SHARE,
    PAIRED,
    SLOWDOWN,
    SYNC,
    TOGETHER,
    WAIT,
)
from cosched.sim.studies.tang2011.setup import BASE, E_HOLDS, E_YIELDS, I_HOLDS, I_YIELDS, LOADS, SCHEMES, SHARES


def statements() -> list[Statement]:
    """Return all statements, in the order of the paper."""
    return [
        *_setup(),
        *_workload(),
        *_figure_3(),
        *_figure_4(),
        *_observations(),
        *_figure_5(),
        *_figure_6(),
        *statements_by_share(),
    ]


def _fact(where: str, what: str, value: float, quote: str, fact: str) -> Statement:
    return Statement(where, what, f"{value:,g}", quote, value, value, fact=fact)


def _setup() -> Iterator[Statement]:
    nodes = "40,960 nodes on Intrepid and 100 nodes on Eureka are available for scheduling"
    yield _fact("V-A", "Intrepid: nodes", 40_960, nodes, "intrepid nodes")
    yield _fact("V-A", "Eureka: nodes", 100, nodes, "eureka nodes")
    sizes = "On Intrepid, the job size ranges from 512 nodes to 32,768 nodes"
    yield _fact("V-A", "Intrepid: smallest job (nodes)", 512, sizes, "intrepid smallest")
    yield _fact("V-A", "Intrepid: largest job (nodes)", 32_768, sizes, "intrepid largest")
    sizes = "On Eureka, the job size ranges from 1 node to 100 nodes"
    yield _fact("V-A", "Eureka: smallest job (nodes)", 1, sizes, "eureka smallest")
    yield _fact("V-A", "Eureka: largest job (nodes)", 100, sizes, "eureka largest")
    quote = "we set the held nodes' releasing period at 20 minutes"
    yield _fact("V-A", "Release interval (min)", 20, quote, "release interval")
    yield _fact("V-B", "Replications of a case", 10, "We ran each case 10 times", "replications")
    quote = "all the paired jobs start at the same time with their own mate jobs"
    yield Statement("V-B", "Pairs that start together (%)", "100", quote, 100, 100, BY_LOAD, LOADS, SCHEMES, TOGETHER)
    yield Statement(
        "V-B", "Pairs that start together, by share (%)", "100", quote, 100, 100, BY_SHARE, SHARES, SCHEMES, TOGETHER
    )


def _workload() -> Iterator[Statement]:
    quote = "we used the real job trace in a month containing 9,219 jobs"
    yield Statement("V-D", "Intrepid: jobs", "9,219", quote, 9219, 9219, BY_LOAD, (0.5,), (BASE,), f"intrepid {JOBS}")
    yield _fact("V-D", "Pair window (min)", 2, "if their submission times were within 2 minutes", "pair window")
    for load in LOADS:
        quote = "system utilization rates, 0.25, 0.5, and 0.75, to present low, medium, and high system load"
        yield Statement(
            "V-D", f"Eureka: load ({load:g})", f"{load:g}", quote, load - 0.005, load + 0.005,
            BY_LOAD, (load,), (BASE,), f"eureka {LOAD}",
        )  # fmt: skip
    yield Statement(
        "V-D", "Paired share of Intrepid's jobs (%)", "5 to 10",
        "The resulting proportion of paired jobs was between 5% and 10%", 5, 10,
        BY_LOAD, LOADS, (BASE,), f"intrepid {PAIRED}",
    )  # fmt: skip


def _figure_3() -> Iterator[Statement]:
    wait, extra = f"intrepid {WAIT}", f"intrepid {WAIT}{EXTRA}"
    quote = "The horizontal line represents the baseline (61 minutes)"
    yield Statement("Fig. 3(a)", "Intrepid: base wait (min)", "61", quote, 60.5, 61.5, BY_LOAD, (0.5,), (BASE,), wait)
    quote = "the coscheduling causes extra average waiting of less than 4 minutes and 10 minutes, respectively"
    for load, most in ((0.25, 4), (0.5, 10)):
        yield Statement(
            "Fig. 3(a)", f"Intrepid: extra wait at {load:g} (min)", f"below {most}", quote, None, most,
            BY_LOAD, (load,), SCHEMES, extra,
        )  # fmt: skip
    yield Statement(
        "Fig. 3(a)", "Intrepid: greatest extra wait at 0.75 (min)", "42",
        "under high load (0.75), the difference grows to 42 minutes", 41.5, 42.5,
        BY_LOAD, (0.75,), SCHEMES, extra, "greatest",
    )  # fmt: skip
    quote = "YY under 0.50 has 7 minutes more average waiting, and HH under 0.75 has 8 minutes more"
    extra = f"eureka {WAIT}{EXTRA}"
    yield Statement(
        "Fig. 3(b)", "Eureka: extra wait, YY at 0.5 (min)", "7", quote, 6.5, 7.5, BY_LOAD, (0.5,), ("YY",), extra
    )
    yield Statement(
        "Fig. 3(b)", "Eureka: extra wait, HH at 0.75 (min)", "8", quote, 7.5, 8.5, BY_LOAD, (0.75,), ("HH",), extra
    )
    quote = "other results with coscheduling are all under 5 minutes"
    for load, schemes in ((0.25, SCHEMES), (0.5, ("HH", "HY", "YH")), (0.75, ("HY", "YH", "YY"))):
        yield Statement(
            "Fig. 3(b)", f"Eureka: other extra waits at {load:g} (min)", "below 5", quote, None, 5,
            BY_LOAD, (load,), schemes, extra,
        )  # fmt: skip


def _figure_4() -> Iterator[Statement]:
    slowdown = f"intrepid {SLOWDOWN}"
    quote = "The base slowdown on Intrepid is 6.1"
    yield Statement(
        "Fig. 4(a)", "Intrepid: base slowdown", "6.1", quote, 6.05, 6.15, BY_LOAD, (0.5,), (BASE,), slowdown
    )
    quote = "Eureka are 1.7, 12.5, and 37.1 for three workloads"
    for load, base in zip(LOADS, (1.7, 12.5, 37.1), strict=True):
        yield Statement(
            "Fig. 4(b)", f"Eureka: base slowdown at {load:g}", f"{base:g}", quote, base - 0.05, base + 0.05,
            BY_LOAD, (load,), (BASE,), f"eureka {SLOWDOWN}",
        )  # fmt: skip
    quote = "the increase average slowdown is under 0.6, 1.5, and 6.3 for the three groups"
    for load, most in zip(LOADS, (0.6, 1.5, 6.3), strict=True):
        yield Statement(
            "Fig. 4(a)", f"Intrepid: extra slowdown at {load:g}", f"below {most:g}", quote, None, most,
            BY_LOAD, (load,), SCHEMES, slowdown + EXTRA,
        )  # fmt: skip
    quote = "the absolute value are all under 12.4"
    yield Statement(
        "Fig. 4(a)", "Intrepid: slowdown", "below 12.4", quote, None, 12.4, BY_LOAD, LOADS, SCHEMES, slowdown
    )


def _observations() -> Iterator[Statement]:
    yield Statement(
        "V-D", "Intrepid: extra wait at 0.75 if it yields (min)", "below 25",
        "if we avoid using hold on Intrepid, we can limit the increased average waiting to under 25 minutes", None, 25,
        BY_LOAD, (0.75,), I_YIELDS, f"intrepid {WAIT}{EXTRA}",
    )  # fmt: skip
    yield Statement(
        "V-D", "Eureka: greatest extra wait (min)", "8",
        "most times are under 5 minutes, and the maximum time is 8 minutes", 7.5, 8.5,
        BY_LOAD, LOADS, SCHEMES, f"eureka {WAIT}{EXTRA}", "greatest",
    )  # fmt: skip


def _figure_5() -> Iterator[Statement]:
    quote = "the sync time increases, from under 10 minutes to nearly 50 minutes, then to above 150 minutes"
    bounds: tuple[tuple[str, float | None, float | None], ...] = (
        ("below 10", None, 10), ("nearly 50", 45, 50), ("above 150", 150, None)
    )  # fmt: skip
    for load, (said, low, high) in zip(LOADS, bounds, strict=True):
        yield Statement(
            "Fig. 5(a)", f"Intrepid: greatest sync time at {load:g} if it holds (min)", said, quote, low, high,
            BY_LOAD, (load,), I_HOLDS, f"intrepid {SYNC}", "greatest",
        )  # fmt: skip
    for schemes, verb, low, high, quote in (
        (E_HOLDS, "holds", 35, 111, "the average job sync time varies from 35 to 111 minutes"),
        (E_YIELDS, "yields", 52, 137, "the overhead varies from 52 to 137 minutes"),
    ):
        yield Statement(
            "Fig. 5(b)", f"Eureka: sync time where it {verb} (min)", f"{low} to {high}", quote, low, high,
            BY_LOAD, LOADS, schemes, f"eureka {SYNC}",
        )  # fmt: skip


def _figure_6() -> Iterator[Statement]:
    quote = "the lost node-hours on Intrepid in a month increase from 135,000 to 1.2 million node-hours"
    yield Statement(
        "Fig. 6(a)", "Intrepid: lost node-hours", "135,000 to 1.2 million", quote, 135_000, 1_200_000,
        BY_LOAD, LOADS, I_HOLDS, f"intrepid {LOSS}",
    )  # fmt: skip
    yield Statement(
        "Fig. 6(a)", "Intrepid: lost share (%)", "0.46 to 4.6",
        "they represent 0.46% to 4.6% of the total node-hours in a month", 0.46, 4.6,
        BY_LOAD, LOADS, I_HOLDS, f"intrepid {LOSS_SHARE}",
        note="1.2 million of the 29.5 million node-hours of 30 days are 4.1 %, not 4.6 %",
    )  # fmt: skip
    yield Statement(
        "Fig. 6(b)", "Eureka: lost node-hours", "25,000 to 35,000",
        "total node-hour loss in a month ranges from 25,000 to 35,000", 2_500, 3_500,
        BY_LOAD, LOADS, E_HOLDS, f"eureka {LOSS}",
        note="a misprint: Eureka has 72,000 node-hours in 30 days; compared with 2,500 to 3,500, as its shares say",
    )  # fmt: skip
    yield Statement(
        "Fig. 6(b)", "Eureka: lost share (%)", "3.5 to 4.9",
        "which corresponds to 3.5% to 4.9% of the total node-hours in a month on Eureka", 3.5, 4.9,
        BY_LOAD, LOADS, E_HOLDS, f"eureka {LOSS_SHARE}",
    )  # fmt: skip
