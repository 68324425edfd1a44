"""Jobs of Slurm that have parts: a heterogeneous job is one, by its first component; an array's tasks are jobs."""

from dataclasses import replace

import pytest

from cosched.core.protocol import named_mate
from cosched_adapters.batch_system import Appeared, Divided, Gone, Offered, Refused
from cosched_adapters.slurm.commands import whole
from tests.adapters.slurm.desk import OFFER, ROW, RUNNING, Desk

COMPONENTS = [replace(ROW, het="7"), replace(ROW, job_id="8", het="7", nodes=3, comment="words")]


def test_a_heterogeneous_job_is_one_whose_first_hook_holds_it() -> None:
    desk = Desk()
    desk.look(*whole(COMPONENTS))
    assert desk.book.offered(replace(OFFER, job_id="8", nodes=3, het="7+1"))
    assert desk.told == [("start", "8", None)], "nothing is launched as long as the first one's hook waits"
    assert desk.book.offered(replace(OFFER, het="7+0"))
    appeared, offered = desk.reports
    assert isinstance(appeared, Appeared)
    assert isinstance(offered, Offered)
    assert (appeared.job_id, appeared.nodes, offered.nodes) == ("7", 5, 5)


def test_the_hook_of_a_component_waits_until_it_is_known_what_the_first_one_names() -> None:
    desk = Desk()
    assert not desk.book.offered(replace(OFFER, job_id="8", het="7+1"))
    assert (desk.told, desk.book.unseen["8"].first) == ([], "7")
    desk.look(*whole([replace(COMPONENTS[0], comment=""), replace(COMPONENTS[1], comment="cosched:pair=p")]))
    assert (desk.told, desk.kinds) == ([("start", "8", None)], ["Refused"])


@pytest.mark.parametrize(
    ("comments", "named"),
    [
        (["", "cosched:pair=p"], "p"),
        (["cosched:pair=p", "cosched:pair=q"], "p"),
        (["cosched:pair=p", "cosched:"], None),
    ],
)
def test_a_heterogeneous_job_is_refused_if_its_components_name_different_mates(
    comments: list[str], named: str | None
) -> None:
    desk = Desk()
    desk.look(*whole([replace(row, comment=comment) for row, comment in zip(COMPONENTS, comments, strict=True)]))
    (refused,) = desk.reports
    assert isinstance(refused, Refused)
    assert (refused.job_id, refused.named and refused.named.name) == ("7", named)
    assert refused.problem == ("heterogeneous" if named else None)


def test_a_heterogeneous_job_can_yield_if_all_its_components_can() -> None:
    (first, _), (last, _) = (whole([COMPONENTS[0], replace(COMPONENTS[1], can_yield=can)]) for can in (True, False))
    assert (first.can_yield, last.can_yield) == (True, False)


def test_the_tasks_of_an_array_are_jobs_with_mates_once_they_are_parted() -> None:
    desk, last, first = Desk(), replace(ROW, array="7", task=1), replace(ROW, job_id="8", array="7", task=0)
    desk.look(replace(ROW, array="7"))
    assert (desk.book.arrays.undivided, desk.reports) == ({"7": "cosched:pair=p"}, [])
    assert not desk.book.offered(replace(OFFER, job_id="8", array="7_0"))
    desk.book.learn(first)
    assert not desk.book.tell_arrays(), "not all of its tasks are known"
    desk.book.arrays.undivided.clear()
    desk.look(last, replace(first, state="CONFIGURING"))
    assert desk.book.tell_arrays()
    assert desk.kinds == ["Appeared", "Offered", "Appeared", "Divided"]
    named = named_mate("", "p")
    assert [each.named for each in desk.reports] == [named_mate("", name) for name in ("p[0]", "p[0]", "p[1]", "p")]
    assert desk.reports[-1] == Divided("7", "ann", named, frozenset({0, 1}))
    assert not desk.book.tell_arrays()
    desk.look(replace(last, state="COMPLETED"), replace(first, state="COMPLETED"))
    assert desk.reports[-1] == Gone("7")


def test_an_array_that_names_one_job_is_refused_before_its_tasks_are_offered() -> None:
    desk, row = Desk(), replace(ROW, comment="cosched:mate=eureka/5")
    desk.look(replace(row, array="7"))
    desk.look(replace(row, array="7"), replace(row, job_id="8", array="7", task=0))
    assert desk.kinds == ["Refused"]
    desk.look(replace(row, state="COMPLETED", array="7"), replace(RUNNING, job_id="8", array="7", task=0))
    assert desk.kinds == ["Refused"]
    desk.look(replace(row, state="COMPLETED", array="7"))
    assert desk.reports[1:] == [Gone("7")]
