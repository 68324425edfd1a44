"""The claims of section 5 (claims.csv), checked against our results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cosched_papers.studies.barsanti2006 import measuring, setup
from cosched_papers.studies.barsanti2006.comparisons import of
from cosched_papers.studies.barsanti2006.measuring import BIN_NAMES, CLASSES, EXPANDED, FACTOR, RESPONSE, SHRUNK, WAIT
from cosched_papers.studies.barsanti2006.setup import CIRNE_BERMAN, DOWNEY, NO_PREDICTION, SCOJO_P, TRADITIONAL, W1, W2
from cosched_sim.results.estimate import Estimate, estimate, shown
from cosched_sim.studies.design import Found
from cosched_sim.studies.measured import Of, differences, less, more, ratio
from cosched_sim.studies.paper import Claim, read_claims
from cosched_sim.studies.verdicts import HOLDS, OPEN, Range, Verdict, all_of, because, missing, positive

EIGHTY = f"{setup.HIGH_SHARE:g}"
ALL_CLASSES = ("", *CLASSES)
BEST_IDEAL = 0.9


def claims() -> list[Claim[Found]]:
    """Return all claims, in the order of the paper."""
    return read_claims(__file__, CHECKS)


def _more(found: Found, lines: Iterable[tuple[str, str, str]], unit: str = "") -> Verdict:
    """Decide whether there is more of each measure under Cirne-Berman than under SCOJO-P; a line: name, where, what."""
    return positive(differences(found, (
        (name, of(where, CIRNE_BERMAN, measure), of(where, SCOJO_P, measure)) for name, where, measure in lines
    )), unit)  # fmt: skip


def _longer(found: Found, where: str) -> Verdict:
    return _more(found, ((name, where, f"{name} {RESPONSE}") for name in CLASSES), " h")


def _beside_rival(found: Found, where: str, name: str) -> Estimate | None:
    """Return the response of a class under SCOJO-P as a share of that under Cirne-Berman."""
    return ratio(found, *(of(where, scheduler, f"{name} {RESPONSE}") for scheduler in (SCOJO_P, CIRNE_BERMAN)))


def _marginal(found: Found) -> Verdict:
    shares = [(f"{name} jobs", _beside_rival(found, W1, name)) for name in CLASSES[:2]]
    verdict = all_of(shares, Range(0.9, 1, without=(1,)), " of it")
    return because(verdict, lambda: "the paper says itself that they are cut to a third (figure 4)")


def _in_bins(found: Found, name: str, bins: Sequence[str], scheduler: str) -> dict[int, float]:
    """Return which share of a class's jobs is in some bins of responses, in each replication."""
    values = [found.values(*of(W1, scheduler, measuring.bin_of(name, upto))) for upto in bins]
    return {number: sum(each[number] for each in values) for number in values[0]}


def _more_in_bins(found: Found, which: Sequence[tuple[str, Sequence[str]]], sign: int) -> Verdict:
    """Decide whether SCOJO-P has more (or, by the sign, fewer) jobs of each class in these bins than Cirne-Berman."""
    lines = []
    for name, bins in which:
        one, other = (_in_bins(found, name, bins, scheduler) for scheduler in (SCOJO_P, CIRNE_BERMAN))
        differences = [sign * (one[number] - other[number]) for number in one if number in other]
        lines.append((f"{name} jobs", estimate(differences) if differences else None))
    return positive(lines, " % of the jobs")


def _adapts(found: Found, where: str, scheduler: str, more_of: str, than: str, classes: Sequence[str]) -> Verdict:
    """Decide whether more jobs are adapted in one way than in the other."""

    def adapted(name: str, how: str) -> Of:
        return of(where, scheduler, measuring.of_class(name, how))

    lines = [(name or "all", adapted(name, more_of), adapted(name, than)) for name in classes]
    return positive(differences(found, lines), " % of the jobs")


def _shrinks_more(found: Found) -> Verdict:
    others = (("than under W1", W1, SCOJO_P), ("than under Cirne-Berman", W2, CIRNE_BERMAN))
    lines = ((name, of(W2, SCOJO_P, SHRUNK), of(where, than, SHRUNK)) for name, where, than in others)
    return positive(differences(found, lines), " % of the jobs")


def _within(value: Estimate | None, fits: Range, unit: str, what: str) -> Verdict:
    if value is None:
        return missing()
    word = fits.decides(value)
    reason = f"{what} by that, {'which leaves open whether by' if word == OPEN else 'and not by'}"
    ends = f"{shown(fits.low)} to {shown(fits.high)}{unit}"
    return Verdict(word, f"{value}{unit}", "" if word == HOLDS else f"{reason} {ends}")


def _up_to(most: float) -> Range:
    """Return what is shorter, but by at most so many per cent."""
    return Range(0, most, without=(0,))


def _little(found: Found) -> Verdict:
    value = less(found, of(W1, SCOJO_P, RESPONSE), of(W1, NO_PREDICTION, RESPONSE))
    return _within(value, _up_to(10), " %", "the response with prediction is less")


def _eighty(found: Found, scheduler: str, sign: int) -> Verdict:
    value = less(found, of(EIGHTY, scheduler, RESPONSE), of(W1, scheduler, RESPONSE))
    return because(positive([("response", value and value.times(sign))], " %"), lambda: _by_share(found, scheduler))


def _by_share(found: Found, scheduler: str) -> str:
    """Say how the response goes from that of all jobs moldable to that of none."""
    base = of(W1, TRADITIONAL, RESPONSE)
    places = [(f"{100 * share:g} %", of(f"{share:g}", scheduler, RESPONSE)) for share in setup.SHARES]
    places = [("100 %", of(W1, scheduler, RESPONSE)), *places, ("0 %", base)]
    shares = ((name, ratio(found, where, base)) for name, where in places)
    told = ", ".join(f"{value} ({name})" for name, value in shares if value)
    return f"fewer moldable jobs bring any scheduler nearer to the traditional one; as a share of its response: {told}"


def _sign(found: Found) -> Verdict:
    shorter = positive([("response", more(found, of(W1, TRADITIONAL, RESPONSE), of(W1, CIRNE_BERMAN, RESPONSE)))], " h")
    return because(shorter, lambda: sign_by_limits(found))


def sign_by_limits(found: Found) -> str:
    """Say beside what Cirne-Berman, kept within bounds, is better or worse than the traditional scheduler."""
    base = of(W1, TRADITIONAL, RESPONSE)
    told = [
        (said, less(found, of(setup.LIMITS, scheduler, RESPONSE), base))
        for said, scheduler in (("kept at or below N_opt", setup.AT_MOST), ("at or above it", setup.AT_LEAST))
    ]
    parts = [f"{said} its response is {_than(value)}" for said, value in told if value]
    slow = found.mean(*of(setup.LIMITS, setup.NO_BACKFILLING, RESPONSE))
    usual = found.mean(*base)
    parts += [f"without backfilling the traditional scheduler has {slow} h, with it {usual} h"] if slow else []
    return f"larger sizes decide: {', '.join(parts)}" if parts else "its bounds were not tried"


def beside_traditional(found: Found) -> str:
    """Say how much longer or shorter the response of Cirne-Berman is than that of the traditional scheduler."""
    value = less(found, of(W1, CIRNE_BERMAN, RESPONSE), of(W1, TRADITIONAL, RESPONSE))
    return _than(value) if value else "not known"


def _than(value: Estimate) -> str:
    """Say how much shorter or longer it is; if the interval leaves open which, say that."""
    which = "shorter" if value.mean > 0 else "longer"
    still = "" if value.low > 0 or value.high < 0 else " (which of both is open)"
    return f"{Estimate(abs(value.mean), value.half)} % {which}{still}"


def _long_most(found: Found) -> Verdict:
    there = {name: value for name in CLASSES if (value := _beside_rival(found, W2, name)) is not None}
    if len(there) < len(CLASSES):
        return missing()
    ours = ", ".join(f"{name} {value}" for name, value in there.items())
    long = there.pop("long")
    verdict = positive([(f"{name} less long jobs", value.minus(long)) for name, value in there.items()])
    return replace(verdict, ours=ours)


def _ideal(found: Found) -> Verdict:
    means = {load: found.mean((setup.IDEAL, load, NO_PREDICTION), RESPONSE) for load in setup.IDEALS}
    best, others = (setup.IDEAL, BEST_IDEAL, NO_PREDICTION), (load for load in setup.IDEALS if load != BEST_IDEAL)
    named = [(f"{load:g}", found.difference((setup.IDEAL, load, NO_PREDICTION), best, RESPONSE)) for load in others]
    ours = "; ".join(f"{load:g}: {value} h" for load, value in means.items() if value is not None)
    return replace(positive(named, " h"), ours=ours or "no results")


def _of_downey(found: Found, rival: str, scheduler: str, measure: str, fits: Range) -> Verdict:
    """Decide whether the scheduler has less than the rival, by per cents that fit."""
    value = less(found, of(DOWNEY, scheduler, measure), of(DOWNEY, rival, measure))
    return _within(value, fits, " %", f"the {measure} is less")


def _harms(found: Found) -> Verdict:
    """Decide whether SCOJO-P has longer responses with prediction; else say what it does to sizes and waits."""
    longer = more(found, *(of(DOWNEY, scheduler, RESPONSE) for scheduler in (SCOJO_P, NO_PREDICTION)))
    size, wait = (
        [found.mean(*of(DOWNEY, scheduler, measure)) for scheduler in (SCOJO_P, NO_PREDICTION)]
        for measure in (f"long {FACTOR}", WAIT)
    )
    reason = (
        f"with it long jobs leave nodes to those that come ({size[0]} of N_opt, without it {size[1]}), so waits are "
        f"shorter ({wait[0]} h, without it {wait[1]} h)"
    )
    return because(positive([("response", longer)], " h"), lambda: reason)


CHECKS: Mapping[str, Callable[[Found], Verdict]] = {
    "every-class": lambda r: _longer(r, W1),
    "earlier-smaller": lambda r: _more(r, [("size / N_opt", W1, f"long {FACTOR}"), ("wait in h", W1, f"long {WAIT}")]),
    "marginal": _marginal,
    "more-early": lambda r: _more_in_bins(r, (("short", BIN_NAMES[:1]), ("medium", BIN_NAMES[:3])), 1),
    "late-long": lambda r: _more_in_bins(r, [("long", BIN_NAMES[:4])], -1),
    "few-late": lambda r: _more_in_bins(
        r, [("short", BIN_NAMES[4:]), ("medium", BIN_NAMES[4:]), ("long", BIN_NAMES[-1:])], -1
    ),
    "shrinks": lambda r: _adapts(r, W1, SCOJO_P, SHRUNK, EXPANDED, ALL_CLASSES),
    "expands": lambda r: _adapts(r, W1, CIRNE_BERMAN, EXPANDED, SHRUNK, ALL_CLASSES),
    "utilisation": lambda r: _more(r, ((where, where, measuring.UTILISATION) for where in (W1, W2)), " %"),
    "little": _little,
    "similar": lambda r: _longer(r, EIGHTY),
    "eighty-better": lambda r: _eighty(r, SCOJO_P, 1),
    "eighty-worse": lambda r: _eighty(r, CIRNE_BERMAN, -1),
    "sign": _sign,
    "expands-2": lambda r: _adapts(r, W2, CIRNE_BERMAN, EXPANDED, SHRUNK, ALL_CLASSES[:1]),
    "shrinks-2": _shrinks_more,
    "long-most": _long_most,
    "faster": lambda r: _more(r, ((where, where, measuring.CPU) for where in (W1, W2)), " CPU-s"),
    "ideal": _ideal,
    "downey-response": lambda r: _of_downey(r, CIRNE_BERMAN, SCOJO_P, RESPONSE, _up_to(20)),
    "downey-slowdown": lambda r: _of_downey(r, CIRNE_BERMAN, SCOJO_P, measuring.SLOWDOWN, Range(100 / 3, 100)),
    "downey-sign": lambda r: _of_downey(r, TRADITIONAL, CIRNE_BERMAN, RESPONSE, _up_to(20)),
    "downey-prediction": _harms,
}
