"""Scripted events: what-if runs."""

import pytest

from cosched.core.job import JobState
from cosched.words.errors import InputError
from cosched_sim.script import Action, ScriptedDomain, ScriptedEvent, read_script
from cosched_sim.what_if import WhatIf
from tests.reference import RefDomain, RefJob
from tests.sim.exact import outcomes, pairing_of, setup_of
from tests.sim.watched import WatchedEngine

DOMAINS = {
    "A": ScriptedDomain({"1": 0, "2": 1}, nodes=10, paired={0}),
    "B": ScriptedDomain({"1": 0}, nodes=4),
    "M": ScriptedDomain({"1": 0}, nodes=4, meets=True),
    "F": ScriptedDomain({"1": 0}, nodes=4, only_jobs="a fluid scheduler"),
}


def run(domains, pairs, *events):
    setups = [setup_of(domain) for domain in domains]
    engine = WatchedEngine(setups, pairing_of(pairs, setups), WhatIf(events))
    engine.run()
    return engine, outcomes(engine)


def domain(name, *jobs, nodes=10, **settings):
    """Jobs as (submit, run, nodes), numbered from 1."""
    settings = {"release_jitter": "0", "max_held_fraction": "1", **settings}
    return RefDomain(name, nodes, [RefJob(i + 1, s, r, r, n) for i, (s, r, n) in enumerate(jobs)], **settings)


class TestCancel:
    def test_a_queued_job_never_starts_and_what_it_blocked_does(self):
        a = domain("A", (0, 100, 10), (1, 50, 10), (2, 10, 5), backfill="none")
        _, result = run([a], [], ScriptedEvent(5, Action.CANCEL, "A", row=1))
        assert (result["A", 2].state, result["A", 2].start) == ("cancelled", None)
        assert result["A", 3].start == 100

    def test_a_running_job_gives_its_nodes_back_at_once(self):
        a = domain("A", (0, 100, 10), (1, 50, 10))
        _, result = run([a], [], ScriptedEvent(5, Action.CANCEL, "A", row=0))
        assert (result["A", 1].state, result["A", 1].end) == ("cancelled", 5)
        assert result["A", 2].start == 5

    def test_a_holding_job_frees_its_nodes_and_its_mate_starts_alone(self):
        a, b = domain("A", (0, 100, 6), (1, 10, 10)), domain("B", (50, 30, 4))
        engine, result = run([a, b], [(("A", 1), ("B", 1))], ScriptedEvent(5, Action.CANCEL, "A", row=0))
        assert result["A", 2].start == 5
        assert result["B", 1].start == 50
        assert result["A", 1].held_node_seconds == 6 * 5
        assert engine.coschedulers[0].ledger.held_nodes == 0

    def test_the_mate_of_a_job_cancelled_before_its_submission_does_not_wait(self):
        a, b = domain("A", (0, 100, 6)), domain("B", (5000, 30, 4))
        _, result = run([a, b], [(("A", 1), ("B", 1))], ScriptedEvent(5, Action.CANCEL, "B", row=0))
        assert result["A", 1].start == 5  # it hears of that at once
        assert result["B", 1].state == "cancelled"

    def test_a_job_that_has_ended_stays_as_it_is(self):
        _, result = run([domain("A", (0, 10, 1))], [], ScriptedEvent(50, Action.CANCEL, "A", row=0))
        assert (result["A", 1].state, result["A", 1].end) == ("completed", 10)


class TestNodes:
    def test_down_nodes_fail_the_latest_started_jobs_on_them(self):
        a = domain("A", (0, 100, 4), (1, 100, 4), (2, 100, 4))
        events = ScriptedEvent(10, Action.DOWN, "A", nodes=4), ScriptedEvent(30, Action.UP, "A", nodes=4)
        _, result = run([a], [], *events)
        assert [result["A", i].state for i in (1, 2, 3)] == ["completed", "failed", "completed"]
        assert (result["A", 2].end, result["A", 3].start) == (10, 30)

    def test_free_nodes_go_first(self):
        a = domain("A", (0, 100, 4))
        _, result = run([a], [], ScriptedEvent(10, Action.DOWN, "A", nodes=6))
        assert result["A", 1].state == "completed"

    def test_a_holding_job_on_them_is_queued_again(self):
        a, b = domain("A", (0, 100, 6)), domain("B", (500, 30, 4))
        events = ScriptedEvent(10, Action.DOWN, "A", nodes=8), ScriptedEvent(100, Action.UP, "A", nodes=8)
        _, result = run([a, b], [(("A", 1), ("B", 1))], *events)
        assert result["A", 1].start == result["B", 1].start == 500
        assert result["A", 1].held_node_seconds == 6 * 10 + 6 * 400
        assert result["A", 1].holds == 2

    def test_drained_nodes_leave_as_they_become_free(self):
        a = domain("A", (0, 100, 8), (1, 50, 8), (1, 50, 2))
        engine, result = run([a], [], ScriptedEvent(10, Action.DRAIN, "A", nodes=6))
        assert result["A", 1].state == "completed"
        assert result["A", 3].start == 1
        assert result["A", 2].state == "never_started"
        assert engine.tables.domains[0]["free"] == 4

    def test_nodes_that_were_still_to_leave_stay(self):
        a = domain("A", (0, 100, 8), (1, 50, 10))
        events = ScriptedEvent(10, Action.DRAIN, "A", nodes=6), ScriptedEvent(20, Action.UP, "A", nodes=9)
        _, result = run([a], [], *events)
        assert result["A", 2].start == 100

    def test_on_a_partitioned_pool_whole_units_leave_the_last_first(self):
        a = domain("A", (0, 100, 2), (20, 10, 4), nodes=8, layout=(4, 2))
        events = ScriptedEvent(10, Action.DOWN, "A", nodes=3), ScriptedEvent(50, Action.UP, "A", nodes=8)
        _, result = run([a], [], *events)
        assert result["A", 1].state == "completed"
        assert result["A", 2].start == 50


class TestSchemesAndLinks:
    def test_a_domain_that_switches_coscheduling_off_starts_what_is_ready_alone(self):
        a, b = domain("A", (0, 100, 6)), domain("B", (0, 5000, 4), (1, 30, 4), nodes=4)
        _, result = run([a, b], [(("A", 1), ("B", 2))], ScriptedEvent(100, Action.SCHEME, "A", scheme="off"))
        assert result["A", 1].start == 1200  # it kept its hold until the release timer
        assert result["B", 2].start == 5000

    def test_a_scheme_switched_from_hold_to_yield_holds_no_more(self):
        a, b = domain("A", (0, 100, 6)), domain("B", (0, 5000, 4), (1, 30, 4), nodes=4)
        _, result = run([a, b], [(("A", 1), ("B", 2))], ScriptedEvent(100, Action.SCHEME, "A", scheme="yield"))
        assert result["A", 1].held_node_seconds == 6 * 1200
        assert result["A", 1].start == result["B", 2].start == 5000

    def test_while_the_link_is_cut_a_ready_job_starts_alone(self):
        a, b = domain("A", (50, 100, 6)), domain("B", (0, 500, 4), (10, 30, 4), nodes=4)
        pairs = [(("A", 1), ("B", 2))]
        cut = ScriptedEvent(20, Action.CUT, "A", peer="B"), ScriptedEvent(60, Action.MEND, "A", peer="B")
        _, result = run([a, b], pairs, *cut)
        assert (result["A", 1].start, result["B", 2].start) == (50, 500)
        _, whole = run([a, b], pairs)
        assert whole["A", 1].start == whole["B", 2].start == 500

    def test_events_of_one_instant_happen_in_file_order_between_completions_and_submissions(self):
        a = domain("A", (0, 100, 10), (100, 50, 10))
        events = ScriptedEvent(100, Action.DOWN, "A", nodes=10), ScriptedEvent(100, Action.UP, "A", nodes=10)
        engine, result = run([a], [], *events)
        assert (result["A", 1].state, result["A", 2].start) == ("completed", 100)
        assert engine.clusters[0].state(1) is JobState.COMPLETED


def test_a_script_is_read_with_comments_and_durations():
    text = "# what if\n\n90m cancel A 2  # why not\n1d down A 3\n100 cut A B 1h\n7 scheme B off\n"
    text += "8 cancel A 1 final\n9 replace A 1 2\n9 fail F 1\n"
    assert read_script(text, DOMAINS) == [
        ScriptedEvent(5400, Action.CANCEL, "A", row=1), ScriptedEvent(86400, Action.DOWN, "A", nodes=3),
        ScriptedEvent(100, Action.CUT, "A", peer="B"), ScriptedEvent(3700, Action.MEND, "A", peer="B"),
        ScriptedEvent(7, Action.SCHEME, "B", scheme="off"), ScriptedEvent(8, Action.CANCEL, "A", row=0, final=True),
        ScriptedEvent(9, Action.REPLACE, "A", row=0, new=1), ScriptedEvent(9, Action.FAIL, "F", row=0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("5", "TIME ACTION ... expected"),
        ("5 explode A", "the actions are cancel, fail, requeue, unlink, replace, down, drain, up, "),
        ("5 cancel A", "TIME cancel DOMAIN JOB_ID [final] expected"),
        ("5 cancel A 1 for good", "TIME cancel DOMAIN JOB_ID [final] expected"),
        ("5 cancel A 1 forever", "'forever' is not 'final'"),
        ("5 fail A 1 final", "TIME fail DOMAIN JOB_ID expected"),
        ("5 requeue A 3", "no job '3' in A"),
        ("5 unlink A 2", "A's job 2 has no mate"),
        ("5 replace A 1", "TIME replace DOMAIN JOB_ID NEW expected"),
        ("5 replace A 2 2", "A's job 2 has no mate, so nobody takes its place"),
        ("5 replace A 1 1", "A's job 1 has a mate, so it takes nobody's place"),
        ("5 down F 1", "F has a fluid scheduler: a script can change its jobs, but there is no down"),
        ("5 cut A F 1h", "F has a fluid scheduler: a script can change its jobs, but there is no cut"),
        ("5 cancel C 1", "no domain 'C'"),
        ("5 cancel A 3", "no job '3' in A"),
        ("soon cancel A 1", "'soon' is not a duration"),
        ("-5 cancel A 1", "'-5' is not a duration"),
        ("5 down A 0", "not a number of nodes of A, 1 to 10"),
        ("5 down A 11", "not a number of nodes of A, 1 to 10"),
        ("5 down A x", "not a number of nodes of A, 1 to 10"),
        ("5 scheme A maybe", "'maybe' is not one of hold, yield, off"),
        ("5 scheme A meet", "A: a domain meets for a whole replay or not at all; replay it twice instead"),
        ("5 scheme M off", "M: a domain meets for a whole replay or not at all; replay it twice instead"),
        ("5 cut A A 1h", "'A' is not another domain"),
        ("5 cut A B long", "'long' is not a duration"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_the_reason(line, reason):
    with pytest.raises(InputError, match=r"^script:2: ") as error:
        read_script(f"# a comment\n{line}\n", DOMAINS)
    assert reason in str(error.value)


def test_a_script_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_script(str(tmp_path / "none.txt"), DOMAINS)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_script(str(tmp_path / "binary"), DOMAINS)
