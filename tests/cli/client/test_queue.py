"""`cosched queue` and `cosched pairs`."""

import json
from datetime import UTC, datetime

from cosched.cli.client.wording import local_time
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import job_pb2
from cosched.v1.explain_pb2 import ESTIMATE_SOURCE_HAS_NODES, Explanation, Outlook
from tests.client.fake_domain import EPOCH, EUREKA_3


def lines(text):
    return [line.split() for line in text.splitlines()]


def add_running(domain):
    job = domain.add(name="flow", state=job_pb2.JOB_STATE_RUNNING, nodes=3, node_names=["n1", "n2", "n3"])
    job.started_at.seconds = EPOCH + 60
    domain.domain.now.seconds = EPOCH + 60 + 3_723
    return job


def add_mate(job, /, **fields):
    return job.mates.add(name={"pair": {"domain": "eureka", "name": "run7"}}, **fields)


def test_it_looks_like_squeue(cosched, domain):
    add_running(domain)
    job = domain.add(name="viz", owner="bob", reason="MateUnsubmitted", nodes=12)
    add_mate(job, lookup=wire.MATE_LOOKUP_UNSUBMITTED)
    held = domain.add(state=job_pb2.JOB_STATE_HOLDING, reason="Held", node_names=["n4"])
    add_mate(held, lookup=wire.MATE_LOOKUP_FOUND, job=EUREKA_3)
    assert cosched("queue").stdout == (
        "JOBID  NAME  USER   ST     TIME  NODES  NODELIST(REASON)   MATE\n"
        "   17  flow  alice  R   1:02:03      3  n[1-3]\n"
        "   18  viz   bob    PD     0:00     12  (MateUnsubmitted)  run7@eureka\n"
        "   19        alice  HO     0:00      1  n4(Held)           eureka:3\n"
    )


def instant(seconds):
    return local_time(datetime.fromtimestamp(EPOCH + seconds, UTC))


def test_for_whom_nodes_are_kept_and_until_when(cosched, domain):
    job = domain.add(state=job_pb2.JOB_STATE_READY, reason="kept for eureka:7", node_names=["n1"])
    job.holds.hold_until.seconds = EPOCH + 60
    kept = f"(kept for eureka:7 until {instant(60)[-8:]})"
    assert f"  {kept}\n" in cosched("queue").stdout
    assert f"state       ready {kept}\n" in cosched("show", job.ref.job_id).stdout


def test_slots(cosched, domain):
    for slot in (120, None, 60):
        job = domain.add(reason="MateSlot" if slot else "Priority")
        if slot:
            job.slot.seconds = EPOCH + slot
            add_mate(job)
    first, later = instant(60), instant(120)
    assert [line.partition("  (")[2] for line in cosched("queue").stdout.splitlines()[1:]] == [
        f"MateSlot {later})  run7@eureka", "Priority)", f"MateSlot {first})  run7@eureka",
    ]  # fmt: skip
    assert [job["slot"] for job in json.loads(cosched("queue", "--json").stdout)][1] is None
    told_by_older = lines(cosched("queue", "--start").stdout)[1:]
    assert [line[0] for line in told_by_older] == ["19", "17", "18"]
    assert told_by_older[0][3:5] == first.split()


def test_expected_starts(cosched, domain):
    """The earliest first, of the pair if it is known; a job of which nothing is known comes last."""
    for number, (own, mates) in enumerate(((300, 90), (120, None), (None, None))):
        job = domain.add(nodes=number + 1)
        outlook = Outlook(job=job.ref, position=3 - number, queued=3)
        told = domain.explanations[job.ref.job_id] = Explanation(job=outlook)
        if own:
            told.job.start.at.seconds = EPOCH + own
        if mates:
            add_mate(job)
            told.mates.add().start.source = ESTIMATE_SOURCE_HAS_NODES
            told.together.at.seconds = EPOCH + own
    assert lines(cosched("queue", "--start").stdout) == [
        ["JOBID", "NAME", "USER", "ST", "PLACE", "START", "NODES", "MATE", "MATE", "START", "TOGETHER"],
        ["18", "alice", "PD", "2", *instant(120).split(), "2"],
        ["17", "alice", "PD", "3", *instant(300).split(), "1", "run7@eureka", "now", *instant(300).split()],
        ["19", "alice", "PD", "1", "3"],
    ]
    starts = json.loads(cosched("queue", "--start", "--json").stdout)
    assert [job["id"] for job in starts] == ["18", "17", "19"]
    assert starts[1]["explanation"]["mates"][0]["start"]["source"] == "has_nodes"


def test_an_empty_queue_and_the_time_of_a_job_that_has_ended(cosched, domain):
    assert cosched("queue").stdout == "JOBID  NAME  USER  ST  TIME  NODES  NODELIST(REASON)  MATE\n"
    job = add_running(domain)
    job.state = job_pb2.JOB_STATE_COMPLETED
    job.ended_at.seconds = EPOCH + 65
    assert lines(cosched("queue", "--all").stdout)[1][3:] == ["CD", "0:05", "3"]


def test_filters(cosched, domain):
    domain.add(owner="alice")
    domain.add(owner="bob", state=job_pb2.JOB_STATE_RUNNING)
    domain.add(owner="bob", state=job_pb2.JOB_STATE_FAILED)
    add_mate(domain.add(owner="carol"))

    def shown(*flags):
        return [line[0] for line in lines(cosched("queue", *flags).stdout)[1:]]

    assert shown() == ["17", "18", "20"]
    assert shown("--all") == ["17", "18", "19", "20"]
    assert shown("--user", "bob") == ["18"]
    assert shown("--state", "F,running") == ["18", "19"]
    assert shown("-u", "bob", "-t", "f") == ["19"]
    assert shown("--paired") == ["20"]


def test_an_unknown_state(cosched):
    result = cosched("queue", "--state", "Q", exit_code=2)
    assert "'q' is not one of PD (queued), RD (ready)" in " ".join(result.stderr.split())


def test_more_jobs_than_fit_on_a_page(cosched, domain):
    domain.page_size = 7
    for _ in range(20):
        domain.add()
    assert len(lines(cosched("queue").stdout)) == 21


def test_as_json(cosched, domain):
    add_running(domain).time_limit.seconds = 90
    [shown] = json.loads(cosched("queue", "--json").stdout)
    assert (shown["id"], shown["state"], shown["node_names"]) == ("17", "running", ["n1", "n2", "n3"])
    assert (shown["started_at"], shown["time_limit"], shown["ended_at"]) == ("2026-01-01T00:01:00Z", 90, None)
    assert (shown["mates"], shown["holds"]["holds"]) == ([], 0)


def test_others_names_do_not_reach_the_terminal_raw(cosched, domain):
    job = domain.add(name="\x1b[2Jevil\r\n\u202e", owner="m\x07llory", reason="a\tb", node_names=["\x9b1"])
    add_mate(job).name.pair.name = "\x1b]0;title\x07"
    job.state = job_pb2.JOB_STATE_HOLDING
    for command in ("queue", "pairs"):
        shown = cosched(command).stdout
        assert all(line.isprintable() for line in shown.splitlines())
        assert len(shown.splitlines()) == 2
        assert r"\x1b[2Jevil\r\n\u202e" in shown


def test_long_names_are_cut_and_wide_ones_aligned(cosched, domain):
    domain.add(name="x" * 256)
    domain.add(name="流体")
    _, long, wide = cosched("queue").stdout.splitlines()
    assert "x" * 23 + "…  alice" in long
    assert "流体" + " " * 20 + "  alice" in wide


def test_pairs(cosched, domain):
    domain.add()
    add_mate(domain.add(reason="MateUnsubmitted"), lookup=wire.MATE_LOOKUP_UNSUBMITTED)
    add_mate(domain.add(), lookup=wire.MATE_LOOKUP_NO_PAIR)
    add_mate(domain.add())
    mate = add_mate(domain.add(), lookup=wire.MATE_LOOKUP_FOUND, status=wire.MATE_STATUS_HOLDING, job=EUREKA_3)
    mate.heard_at.seconds, mate.gap.seconds = EPOCH, 75
    at_once = add_mate(domain.add(), lookup=wire.MATE_LOOKUP_FOUND, status=wire.MATE_STATUS_RUNNING)
    at_once.heard_at.seconds = domain.jobs["22"].started_at.seconds = EPOCH
    header, *rows = cosched("pairs", env={"TZ": "UTC"}).stdout.splitlines()
    assert header.split("  ")[0] == "JOBID"
    assert [row.split()[0] for row in rows] == ["18", "19", "20", "21", "22"]
    assert "MateUnsubmitted  run7@eureka  unsubmitted" in rows[0]
    assert "no pair" in rows[1]
    assert "no answer yet" in rows[2]
    assert "eureka:3     holding" in rows[3]
    assert [row.rstrip().rpartition("  ")[2] for row in rows[3:]] == ["1:15", "0:00"]
    assert len(json.loads(cosched("pairs", "--json").stdout)) == 5

    add_mate(domain.add(state=job_pb2.JOB_STATE_COMPLETED))
    assert [len(lines(cosched("pairs", *flags).stdout)) for flags in ((), ("--all",))] == [6, 7]
