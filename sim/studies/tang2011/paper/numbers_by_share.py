"""The numbers of V-E: performance under various paired job proportions."""

from __future__ import annotations

from collections.abc import Iterator

from cosched.sim.studies.tang2011.cases import BY_SHARE
from cosched.sim.studies.tang2011.paper.statement import Statement
from cosched.sim.studies.tang2011.results import EXTRA, LOAD, LOSS, LOSS_SHARE, SLOWDOWN, SYNC, WAIT, WAIT_RISE
from cosched.sim.studies.tang2011.setup import BASE, E_HOLDS, I_HOLDS, I_YIELDS, SCHEMES, SHARES

LOW_SHARES, HIGH_SHARES = SHARES[:3], SHARES[3:]


def statements_by_share() -> Iterator[Statement]:
    """Yield the statements in the order of the paper."""
    yield Statement(
        "V-E", "Eureka: load", "around 0.5", "rate of this special Eureka workload is around 0.5", 0.45, 0.55,
        BY_SHARE, (0.1,), (BASE,), f"eureka {LOAD}",
    )  # fmt: skip
    yield from _figure_7()
    yield from _figure_8()
    yield from _figure_9()
    yield from _figure_10()


def _figure_7() -> Iterator[Statement]:
    wait, extra, rise = (f"intrepid {measure}" for measure in (WAIT, WAIT + EXTRA, WAIT_RISE))
    quote = "the average waiting time is under 76 minutes, meaning 3–14 minutes more than the base"
    low = (BY_SHARE, LOW_SHARES, SCHEMES)
    yield Statement("Fig. 7(a)", "Intrepid: wait up to 10 % paired (min)", "below 76", quote, None, 76, *low, wait)
    yield Statement("Fig. 7(a)", "Intrepid: extra wait up to 10 % (min)", "3 to 14", quote, 3, 14, *low, extra)
    quote = "the relative increase is 5%–22%"
    yield Statement("Fig. 7(a)", "Intrepid: relative increase up to 10 % (%)", "5 to 22", quote, 5, 22, *low, rise)
    quote = "the average waiting times increase to 90–100 minutes, or 26–38 minutes"
    fifth = (BY_SHARE, (0.2,), SCHEMES)
    yield Statement("Fig. 7(a)", "Intrepid: wait at 20 % (min)", "90 to 100", quote, 90, 100, *fifth, wait)
    yield Statement("Fig. 7(a)", "Intrepid: extra wait at 20 % (min)", "26 to 38", quote, 26, 38, *fifth, extra)
    quote = "gets considerably worse with the hold scheme (up to 187 minutes)"
    third = (BY_SHARE, (0.33,))
    yield Statement(
        "Fig. 7(a)",
        "Intrepid: greatest wait at 33 % (min)",
        "187",
        quote,
        186.5,
        187.5,
        *third,
        I_HOLDS,
        wait,
        "greatest",
    )
    quote = "comparable to the case with 20% paired jobs (around 100 minutes)"
    yield Statement(
        "Fig. 7(a)",
        "Intrepid: wait at 33 % if it yields (min)",
        "around 100",
        quote,
        90,
        110,
        *third,
        I_YIELDS,
        wait,
    )


def _figure_8() -> Iterator[Statement]:
    slowdown, extra = f"intrepid {SLOWDOWN}", f"eureka {SLOWDOWN}{EXTRA}"
    quote = "For the first three proportions, the average slowdowns are under 7.5"
    yield Statement(
        "Fig. 8(a)",
        "Intrepid: slowdown up to 10 %",
        "below 7.5",
        quote,
        None,
        7.5,
        BY_SHARE,
        LOW_SHARES,
        SCHEMES,
        slowdown,
    )
    quote = "the slowdowns are mostly between 7.9 to 12.9, except with hold-hold"
    yield Statement(
        "Fig. 8(a)", "Intrepid: slowdown at 20 and 33 %, without HH", "7.9 to 12.9", quote, 7.9, 12.9,
        BY_SHARE, HIGH_SHARES, SCHEMES[1:], slowdown,
    )  # fmt: skip
    quote = "the difference in average slowdown is only in the single digits"
    yield Statement(
        "Fig. 8(b)",
        "Eureka: extra slowdown up to 10 %",
        "below 10",
        quote,
        None,
        10,
        BY_SHARE,
        LOW_SHARES,
        SCHEMES,
        extra,
    )
    quote = "the average slowdown shows a double-digit increase"
    yield Statement(
        "Fig. 8(b)", "Eureka: extra slowdown at 20 and 33 %", "10 to 99", quote, 10, 99,
        BY_SHARE, HIGH_SHARES, SCHEMES, extra,
    )  # fmt: skip


def _figure_9() -> Iterator[Statement]:
    quote = "the average sync time mostly ranges between 75 and 88 minutes, except for HH with 124 minutes"
    sync = f"intrepid {SYNC}"
    yield Statement(
        "Fig. 9(a)", "Intrepid: greatest sync time, HH (min)", "124", quote, 123.5, 124.5,
        BY_SHARE, SHARES, ("HH",), sync, "greatest",
    )  # fmt: skip
    yield Statement(
        "Fig. 9(a)", "Intrepid: sync time, HY (min)", "75 to 88", quote, 75, 88, BY_SHARE, SHARES, ("HY",), sync
    )
    yield Statement(
        "Fig. 9(b)", "Eureka: sync time where it holds (min)", "60 to 122",
        "the average paired job sync time varies from 60 to 122 minutes", 60, 122,
        BY_SHARE, SHARES, E_HOLDS, f"eureka {SYNC}",
    )  # fmt: skip


def _figure_10() -> Iterator[Statement]:
    quote = "range from 200,000 to 2.7 million node-hours, or 0.7% to 9.3% of the total node-hours in a month"
    held = (BY_SHARE, SHARES, I_HOLDS)
    yield Statement(
        "Fig. 10(a)",
        "Intrepid: lost node-hours",
        "200,000 to 2.7 million",
        quote,
        2e5,
        2.7e6,
        *held,
        f"intrepid {LOSS}",
    )
    yield Statement(
        "Fig. 10(a)", "Intrepid: lost share (%)", "0.7 to 9.3", quote, 0.7, 9.3, *held, f"intrepid {LOSS_SHARE}"
    )
    quote = "range from 800 to 15,000 node-hours, or 1% to 21% of total node-hours in a month"
    held = (BY_SHARE, SHARES, E_HOLDS)
    yield Statement(
        "Fig. 10(b)", "Eureka: lost node-hours", "800 to 15,000", quote, 800, 15_000, *held, f"eureka {LOSS}"
    )
    yield Statement("Fig. 10(b)", "Eureka: lost share (%)", "1 to 21", quote, 1, 21, *held, f"eureka {LOSS_SHARE}")
    quote = "the loss rate is under 3% on Intrepid and 5% on Eureka"
    for machine, schemes, most in (("intrepid", I_HOLDS, 3), ("eureka", E_HOLDS, 5)):
        yield Statement(
            "V-E", f"{machine.capitalize()}: lost share up to 10 % (%)", f"below {most}", quote, None, most,
            BY_SHARE, LOW_SHARES, schemes, f"{machine} {LOSS_SHARE}",
        )  # fmt: skip
