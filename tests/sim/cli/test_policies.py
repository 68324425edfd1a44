"""Policies that other packages give names, by entry points."""

import random
from importlib.metadata import EntryPoint

import pytest

import cosched_sim as sim
from cosched.validation import policies
from cosched_sim.configuration import Domain
from tests.cli.conftest import swf
from tests.reference.order import wfp

EXPRESSION = "wait / requested"
NUMBER = 7
SEEN: list[tuple[float, float, float]] = []


def wfp_and_list(wait, requested, nodes):
    """The same in Python that cannot be compiled."""
    SEEN.append((wait, requested, nodes))
    return wfp(wait=wait, requested=requested, nodes=nodes)


def fails_for_small(wait, requested, nodes):
    if dict(zip("wrn", (wait, requested, nodes), strict=True))["n"] < 3:
        raise ValueError("too small")
    return nodes


def divides(wait, requested, nodes):
    return nodes * requested / (wait * 0.0)


@pytest.fixture
def installed(monkeypatch):
    """Put the entry points of a package there."""

    def install(name: str, target: str) -> None:
        found = EntryPoint(name, target, policies.GROUP)
        monkeypatch.setattr(
            policies, "entry_points", lambda group, name: [found] if (group, name) == (found.group, found.name) else []
        )

    return install


def policy(name: str) -> str:
    return Domain(name="a", trace="a.swf", policy=name).policy


def test_a_name_stands_for_its_expression(installed):
    installed("patient", f"{__name__}:EXPRESSION")
    assert policy("patient") == EXPRESSION


def test_ours_and_expressions_stay_as_they_are(installed):
    installed("wfp", f"{__name__}:EXPRESSION")
    assert policy("wfp") == "wfp"
    assert policy("min(wait, 9)") == "min(wait, 9)"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("no.such.module:POLICY", "the policy 'site' cannot be loaded: No module named 'no'"),
        (f"{__name__}:NUMBER", "the policy 'site' is neither the text of an expression nor a function"),
        (f"{__name__}:__name__", "unexpected"),
    ],
)
def test_one_that_cannot_be_used(installed, target, reason):
    installed("site", target)
    with pytest.raises(ValueError, match=reason):
        policy("site")


@pytest.fixture
def waiting(tmp_path):
    """A log whose queue is long, so that the order counts."""
    draw = random.Random(1).randrange
    jobs = [(n, 20 * n, draw(50, 900), draw(1, 9), draw(900, 4000)) for n in range(1, 200)]
    path = tmp_path / "a.swf"
    path.write_text(swf(*jobs))
    return path


def starts(trace, name):
    return sim.replay([sim.Domain(name="a", trace=trace, policy=name)]).jobs["start"].to_list()


@pytest.mark.parametrize(("function", "compiled"), [("wfp", True), ("wfp_and_list", False)])
def test_a_function_orders_the_queue_compiled_or_not(installed, waiting, caplog, function, compiled):
    installed("site", f"{__name__}:{function}")
    assert policy("site") == "site"
    assert starts(waiting, "site") == starts(waiting, "wfp") != starts(waiting, "fcfs")
    slow = [line.message.startswith("the policy site cannot be compiled, so it is slow: ") for line in caplog.records]
    assert bool(SEEN) is not compiled
    assert slow == ([] if compiled else [True])
    SEEN.clear()


def test_jobs_for_which_a_function_fails_come_last_and_that_is_told_once(installed, waiting, caplog):
    installed("site", f"{__name__}:fails_for_small")
    assert len(starts(waiting, "site")) == 199
    [told] = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert told.startswith("the policy site has failed for wait=")
    assert told.endswith("and such jobs come last: ValueError('too small')")


def test_a_compiled_function_divides_as_an_expression_does(installed, waiting):
    installed("site", f"{__name__}:divides")
    assert starts(waiting, "site") == starts(waiting, "nodes*requested/(wait*0)")
