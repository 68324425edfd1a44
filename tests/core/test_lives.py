"""A pair's whole life (life.md): who hears what, and what follows. The cases are those of its last part."""

import pytest

from cosched.core.events import Unlinked
from cosched.core.job import JobState
from cosched.core.protocol import EndedBy, GetMateStatus, named_group, named_mate
from cosched.core.settings import OnMemberLost, OnMemberRequeued, OnUnreachable, Scheme

from .lives import Lives

A_WITH_B, B_WITH_A = named_mate("b", "run7"), named_mate("a", "run7")


def case_1(**settings: object) -> Lives:
    """ "a:1 (6 of 8 nodes) ready at 10; mate b:1 queues behind a job until 500; b:1 cancelled at 100" """
    lives = Lives("ab", **settings)
    lives.submit(0, "b:0", 8, 500)
    lives.submit(10, "a:1", 6, 100, A_WITH_B)
    lives.submit(10, "b:1", 6, 100, B_WITH_A)
    return lives


@pytest.mark.parametrize(
    ("choice", "starts_at", "state"),
    [
        (OnMemberLost.START, 100, JobState.COMPLETED),
        (OnMemberLost.WAIT, None, JobState.QUEUED),
        (OnMemberLost.CANCEL, None, JobState.CANCELLED),
    ],
)
def test_case_1_a_holder_hears_at_once_that_its_mate_was_cancelled(choice, starts_at, state):
    """ "patience 0: a:1 starts at 100 (`start`), waits without nodes from 100 (`wait`), is cancelled at 100" """
    lives = case_1(on_member_lost=choice)
    lives.cancel(100, "b:1")
    lives.run(300)
    assert lives.starts().get("a:1") == starts_at
    assert lives.state("a:1") is state
    assert lives.domains["a"].core.ledger.held_nodes == 0


@pytest.mark.parametrize("by", [EndedBy.OWNER_FOR_GOOD, EndedBy.MATE])
def test_case_1_nobody_waits_for_a_successor_that_cannot_come(by):
    """ "or `--final`" """
    lives = case_1(successor_patience=60, successor_hold=60)
    lives.cancel(100, "b:1", by)
    assert lives.run().starts()["a:1"] == 100


def test_nobody_waits_for_another_in_the_place_of_a_mate_that_had_run():
    """ "Not after a start." """
    lives = Lives("ab", successor_patience=60, successor_hold=60, on_member_requeued=OnMemberRequeued.REQUEUE)
    lives.submit(10, "a:1", 6, 100, A_WITH_B)
    lives.submit(10, "b:1", 6, 100, B_WITH_A)
    lives.submit(15, "b:0", 8, 500)
    lives.requeue(20, "b:1")
    assert lives.run(99).state("a:1") is JobState.HOLDING
    lives.cancel(100, "b:1")
    assert lives.run().starts() == {"a:1": 100, "b:1": 10, "b:0": 20}


def test_case_1_with_a_patience_of_60():
    """ "the same at 160" """
    lives = case_1(successor_patience=60, successor_hold=60)
    lives.cancel(100, "b:1")
    assert lives.run().starts()["a:1"] == 160
    assert [at for at, _, what in lives.domains["a"].story if what == "its mate has ended"] == [100]


@pytest.mark.parametrize("hold", [60, 20])
def test_case_2_another_comes_in_its_place(hold):
    """ "b:2 is submitted at 130 in its place: a hears at 130, asks, b:2 is wanted to 1210, a:1 holds on with its old
    end; both start at 500. With successor_hold 20: a:1 gives its nodes back at 120, and both start at the first
    instant that has both" """
    lives = case_1(successor_patience=60, successor_hold=hold)
    lives.cancel(100, "b:1")
    lives.submit(130, "b:2", 6, 100, B_WITH_A)
    assert lives.run(110).domains["a"].core.jobs["1"].keeps_nodes_until(110) == 100 + hold
    held = {job for at, job, what in lives.run(140).domains["a"].story if what == "is released" and at == 120}
    assert bool(held) is (hold == 20)
    assert lives.state("a:1") is JobState.HOLDING
    assert lives.domains["a"].core.jobs["1"].held_until == (1210 if hold == 60 else 1330)
    assert lives.domains["b"].core.jobs["2"].wanted
    starts = lives.run().starts()
    assert (starts["a:1"], starts["b:2"]) == (500, 500)


def test_case_2_without_nodes_others_have_them_meanwhile():
    """ "a:1 gives its nodes back at 120" """
    lives = case_1(successor_patience=60, successor_hold=20)
    lives.submit(20, "a:2", 8, 10)
    lives.cancel(100, "b:1")
    starts = lives.run().starts()
    assert (starts["a:2"], starts["a:1"]) == (120, 160)


@pytest.mark.parametrize("patience", [0, 60])
def test_case_3_the_others_of_a_group_start_together(patience):
    """ "with a third member c:1 that holds: a and c start together at 100; with 60 at 160" """
    lives = Lives("abc", successor_patience=patience, successor_hold=patience)
    lives.submit(0, "b:0", 8, 500)
    for name in "abc":
        others = tuple(other for other in "abc" if other != name)
        lives.submit(10, f"{name}:1", 6, 100, named_group("g", others))
    lives.cancel(100, "b:1")
    starts = lives.run().starts()
    assert (starts["a:1"], starts["c:1"]) == (100 + patience, 100 + patience)


def test_case_4_who_has_missed_a_start_hears_of_it_when_it_is_back():
    """ "b is killed at 50 and started again at 300; at 170 a and c start together without b (grace 120). b's holder
    hears at 300, starts at 300" """
    lives = Lives("abc", mate_patience=160, peer_grace=120)
    for name in "abc":
        others = tuple(other for other in "abcd" if other != name)
        lives.submit(10, f"{name}:1", 6, 1000, named_group("g", others))
    lives.domains["d"] = Lives("d").domains["d"]  # where its member is not submitted
    lives.kill(50, "b", until=300)
    assert lives.run().starts() == {"a:1": 170, "c:1": 170, "b:1": 300}


def test_an_unlinked_mate_is_waited_for_no_longer():
    """ "when its job: ... is unlinked" """
    lives = case_1()
    lives.tell(100, "b", Unlinked("1"))
    assert lives.run().starts()["a:1"] == 100


def test_a_pair_that_starts_by_one_agreement_and_ends_sends_nothing_more():
    """ "a pair that starts by one agreement sends nothing more" """
    lives = case_1().run()
    starts = lives.starts()
    assert starts["a:1"] == starts["b:1"] == 500
    calls = [request for each in lives.domains.values() for request in each.calls]
    assert "TellMember" not in {type(request).__name__ for request in calls}


def test_a_holder_asks_now_and_then():
    """ "an idle holder costs its peer one call in 30 s"; "It makes no new generation" """
    lives = case_1(hold_check=30).run(400)
    asked = [request for request in lives.domains["a"].calls if isinstance(request, GetMateStatus)]
    assert len(asked) == 1 + (400 - 10) // 30
    assert lives.domains["a"].core.jobs["1"].generation == 1


def test_a_lost_word_costs_no_more_than_one_check():
    """ "an answer other than holding or queuing ... makes the job ask from step 2, as a hint does" """
    lives = case_1(hold_check=30)
    lives.at(105, lambda world: world.domains["b"].core.jobs["1"].group.jobs.clear())  # it tells nobody
    lives.cancel(105, "b:1")
    assert lives.run().starts()["a:1"] == 130


@pytest.mark.parametrize("peer_grace", [0, 30])
@pytest.mark.parametrize("scheme", Scheme)
@pytest.mark.parametrize("names", ["ab", "abc"])
def test_a_holder_whose_peer_was_unreachable_asks_again_after_its_return(names, scheme, peer_grace):
    """ "nobody holds for a mate that has ended longer than hold_check + one exchange"

    b:1 ends at 100, while a:1 waits behind another job, and knows b:1 (it has yielded) or not. When it is ready at 200,
    b is away, for longer than its grace.
    """
    lives = Lives(names, scheme=scheme, hold_check=30, peer_grace=peer_grace, on_peer_unreachable=OnUnreachable.HOLD)
    for name in names:
        others = tuple(other for other in names if other != name)
        named = named_mate(others[0], "run7") if len(names) == 2 else named_group("g", others)
        first, second = (10, 11) if scheme is Scheme.YIELD and name == "a" else (10, 0)
        lives.submit(second, f"{name}:0", 8, 200 - second if name == "a" else 1000)
        lives.submit(first, f"{name}:1", 6, 100, named)
    for name in names[1:]:
        lives.cancel(100, f"{name}:1", EndedBy.OWNER_FOR_GOOD)
    lives.kill(150, "b", until=300)
    assert lives.run().starts()["a:1"] <= 330
