"""Groups as users submit them: to services that start them together, or that say in one line why not."""

import json
import os
from pathlib import Path

import pytest

from cosched.client import ClientError
from tests.live.services import COMMAND, fill, noted, script_that_notes, start_together, wait_until

EXAMPLES = Path(__file__).resolve().parents[2] / "deploy" / "examples" / "rendezvous"


@pytest.fixture
def trio(make_federation):
    """Domains a, b and c, each the others' peer."""
    return make_federation("abc", scheme="hold").start().services


def test_a_group_starts_together_and_the_name_of_a_pair_is_refused(trio, tmp_path):
    script = script_that_notes(tmp_path)
    with trio[0].client() as a, trio[1].client() as b, trio[2].client() as c:
        first = a.submit(script, group="g", members=["b", "c"])
        two = b.submit(script, pair="two", pair_domain="c")
        with pytest.raises(ClientError, match="group two: the job on b names other domains"):
            c.submit("#!/bin/sh\n", group="two", members=["a", "b"])
        b.cancel(two)
        second = b.submit(script, group="g", members=["a", "c"])
        assert [str(member) for member in second.group.members] == ["a:1", "c"]
        c.submit(script, group="g", members=["a", "b"])
        wait_until(lambda: all(client.jobs(["completed"], group="g") for client in (a, b, c)))
        assert [str(member) for member in a.job(first).group.members] == ["b:2", "c:2"]
    assert len(noted(tmp_path)) == 3
    assert start_together(trio)


def test_a_job_that_waits_joins_a_group_and_leaves_it(trio, tmp_path):
    script = script_that_notes(tmp_path)
    a, b, c = trio
    with a.client() as first, b.client() as second, c.client() as third:
        paired = first.submit(script, hold=True, pair="p", pair_domain="b")
        mate = second.submit(script, hold=True, pair="p", pair_domain="a")
        alone = third.submit(script, hold=True)
        joined = a.run("link", paired.id, "--group=h", "--with=b,c")
        assert joined.stdout == f"job {paired} was linked: group h (was b:1)\n"
        with pytest.raises(ClientError, match="the job of that name on a names other domains"):
            third.link(alone, group="h", members=["a"])
        third.link(alone, group="h", members=["a", "b"])
        assert [str(member) for member in third.job(alone).group.members] == ["a:1", "b"]
        c.restart()
        third.unlink(alone)
        assert third.job(alone).group is None
        third.link(alone, group="h", members=["a", "b"])
        second.link(mate, group="h", members=["a", "c"])
        for client, job in ((first, paired), (second, mate), (third, alone)):
            client.release(job)
        wait_until(lambda: all(client.jobs(["completed"], group="h") for client in (first, second, third)))
        told = [event.text for event in third.events(after=0, jobs=[alone], until_now=True)]
    assert [text for text in told if "group" in text][:3] == ["joins group h", "unlinked from group h", "joins group h"]
    assert len(noted(tmp_path)) == 3
    assert start_together(trio)


def test_one_job_names_the_others_by_their_ids_and_a_member_with_nodes_is_linked_anew(trio, tmp_path):
    script = script_that_notes(tmp_path)
    a, b, c = trio
    with a.client() as first, b.client() as second, c.client() as third:
        held = first.submit(script, group="none", members=["b", "c"])
        wait_until(lambda: first.job(held).state == "holding")
        blockers = fill(b), fill(c)
        waits, last = second.submit(script, adoptable=True), third.submit(script, adoptable=True)
        for wrong, said in (
            ("b:99,c", "group g: b has no job 99"),
            ("b:,c", "'b:' names no job"),
            (f"b:{waits.id}", "two jobs are a pair: name its other job by its id alone"),
        ):
            refused = a.run("link", held.id, "--group=g", f"--with={wrong}")
            assert said in refused.stderr, refused.stderr
        joined = a.run("link", held.id, "--group=g", f"--with=b:{waits.id},c:{last.id}")
        assert joined.stdout == f"job {held} was linked: group g (was group none)\n"
        assert first.job(held).state in ("ready", "holding"), "it keeps its nodes"
        b.restart()
        others = [f"a:{held.id}", f"c:{last.id}"]
        wait_until(lambda: [str(member) for member in second.job(waits).group.members] == others, "all are known")
        for client, job, go in ((second, waits, blockers[0]), (third, last, blockers[1])):
            assert client.job(job).group.name == "g"
            go.touch()
        wait_until(lambda: all(client.jobs(["completed"], group="g") for client in (first, second, third)))
    assert len(noted(tmp_path)) == 3
    assert start_together(trio)


def test_a_job_of_a_pair_joins_a_group_whatever_its_mates_domain_answers(trio, tmp_path):
    a, b, _ = trio
    with a.client() as first, b.client() as second:
        second.submit(script_that_notes(tmp_path), hold=True, pair="p", pair_domain="a")
        paired = first.submit(script_that_notes(tmp_path), hold=True, pair="p", pair_domain="b")
        b.kill()
        assert str(first.link(paired, group="g", members=["b", "c"]).group) == "g@b+c"


def test_all_jobs_of_a_group_are_submitted_by_one_command_or_none_is(trio, tmp_path):
    a, _, c = trio
    a.environment["COSCHED_DOMAINS"] = ",".join(f"{service.name}={service.socket}" for service in trio)
    (tmp_path / "job.sh").write_text(script_that_notes(tmp_path))
    (tmp_path / "large.sh").write_text(script_that_notes(tmp_path).replace("\n", "\n#COSCHED --nodes=99\n", 1))
    to = [f"--to={service.name}:job.sh" for service in trio]

    refused = a.run("submit", "--group=h", *to[:2], "--to=c:large.sh", cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.startswith("cosched: c: ")
    assert refused.stderr.endswith("; a:1 was cancelled; b:1 was cancelled\n")
    with c.client() as client:
        assert not client.jobs(["cancelled"])

    done = a.run("submit", "--group=h", *to, cwd=tmp_path)
    assert done.stdout == "Submitted job 2 to a\nSubmitted job 2 to b\nSubmitted job 1 to c\n", done.stderr
    waited = a.run("wait", "h")
    assert waited.stdout == "a:2 completed\nb:2 completed\nc:1 completed\n", waited.stderr
    shown = a.run("show", "h").stdout.splitlines()
    assert [line.split()[:2] for line in shown[1:4]] == [[job, "completed;"] for job in ("a:2", "b:2", "c:1")]
    assert sorted(line[:19] for line in shown[5:]) == [line[:19] for line in shown[5:]]
    assert {line.split()[2] for line in shown[5:]} == {"a:2", "b:2", "c:1"}
    assert "h" in a.run("groups", "--all").stdout

    c.kill()
    assert a.run("submit", "--group=i", *to, cwd=tmp_path).returncode == 3
    with a.client() as client:
        assert not client.jobs(group="i")
    pair = a.run("submit", "--group=p", *to[:2], cwd=tmp_path)
    assert pair.stdout == "Submitted job 3 to a\nSubmitted job 3 to b\n", pair.stderr
    assert a.run("wait", "p").stdout == "a:3 completed\nb:3 completed\n"


def test_members_find_each_other_and_exchange_data(trio):
    for service in trio:
        service.stop()
        service.config["domain"]["job_ports"] = "34100-34199"
        service.start()
    a, b, c = trio
    environment = {"PATH": f"{Path(COMMAND[0]).parent}:{os.environ['PATH']}"}
    with a.client() as solver, b.client() as viewer, c.client() as third:
        steps = solver.submit(EXAMPLES / "solver.py", group="g", members=["b", "c"], environment=environment)
        shown = viewer.submit(EXAMPLES / "viewer.py", group="g", members=["a", "c"], environment=environment)
        tells = '#!/bin/sh\necho "$COSCHED_MATES" > known\ncosched mates --json > found\n'
        last = third.submit(tells, group="g", members=["a", "b"], environment=environment)
        for client, job in ((solver, steps), (viewer, shown), (third, last)):
            wait_until(lambda client=client, job=job: client.job(job).state in ("completed", "failed"))
        lines = (b.folder / f"cosched-{shown.id}.out").read_text().splitlines()
        assert lines[-1] == "a: step 4: 1.4142135624", lines
        with pytest.raises(ClientError, match="only a job that runs can be reached"):
            solver.find_mates(steps, host="elsewhere")
    known, found = (json.loads((c.folder / name).read_text()) for name in ("known", "found"))
    assert [(mate["domain"], mate["job_id"], mate["host"]) for mate in known] == [("a", "1", None), ("b", "1", None)]
    assert known[0].keys() | {"problem"} == found[0].keys()
    assert found[0]["ports"] == "34100-34199"


def test_jobs_are_cancelled_with_a_member_of_their_group(trio):
    for service in trio:
        service.stop()
        service.config["coscheduling"]["on_member_lost"] = "cancel"
        service.start()
    with trio[0].client() as a, trio[1].client() as b, trio[2].client() as c:
        for client, others in ((a, "bc"), (b, "ac"), (c, "ab")):
            client.submit("#!/bin/sh\n", group="g", members=[*others], hold=True)
        c.cancel(1)  # which the others hear at once, though their owner holds them back
        wait_until(lambda: all(client.job(1).state == "cancelled" for client in (a, b, c)))


def test_a_cancelled_member_is_replaced_while_none_has_started(trio, tmp_path):
    script = script_that_notes(tmp_path)
    with trio[0].client() as a, trio[1].client() as b, trio[2].client() as c:
        first = a.submit(script, group="g", members=["b", "c"])
        second = b.submit(script, group="g", members=["a", "c"])
        a.cancel(first)
        again = a.submit(script, group="g", members=["b", "c"])
        replaced = [f"a:{again.id}", "c"]
        wait_until(lambda: [str(member) for member in b.job(second).group.members] == replaced, "b hears of it")
        assert any(event.text == "linked with a:2 instead of a:1" for event in b.events(after=0, until_now=True))
        c.submit(script, group="g", members=["a", "b"])
        wait_until(lambda: all(client.jobs(["completed"], group="g") for client in (a, b, c)))
    assert len(noted(tmp_path)) == 3
    assert start_together(trio)


def test_groups_that_cannot_be_are_refused_by_the_command_in_one_line(trio, tmp_path):
    a, b, _ = trio
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    first = a.run("submit", "--group=g", "--with=b,c", "job.sh", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    too_many = ",".join(f"d{number}" for number in range(16))
    for service, options, said in [
        (a, ["--group=h", "--with=b,b"], "'b' is named twice"),
        (a, ["--group=h", "--with=a,b"], "a is this domain"),
        (a, ["--group=h", "--with=b,nowhere"], "no domain nowhere (configured: b, c)"),
        (a, ["--group=h", f"--with={too_many}"], "16"),
        (a, ["--group=h", "--with=b,c", "--nodes=99"], "99"),
        (a, ["--group=h", "--with="], "--with"),
        (a, ["--group=g", "--with=b,c"], "group g: job 1 is its member here already"),
        (b, ["--group=g", "--with=a"], "the job of that name on a names other domains"),
        (b, ["--group=g", "--pair=p", "--with=a"], "--group excludes --mate and --pair"),
        (b, ["--group=g"], "--group NAME needs --with"),
    ]:
        refused = service.run("submit", *options, "job.sh", cwd=tmp_path)
        assert refused.returncode in (1, 2), (options, refused.stdout)
        assert said in refused.stderr, (options, refused.stderr)
        errors = [line for line in refused.stderr.splitlines() if not line.startswith(("Usage:", "Try "))]
        assert len(list(filter(None, errors))) == 1, (options, refused.stderr)
    with a.client() as client:
        assert [job.id for job in client.jobs()] == ["1"]


def test_one_command_submits_another_job_in_the_place_of_a_member(trio, tmp_path):
    (tmp_path / "job.sh").write_text(script_that_notes(tmp_path))
    a, b, c = trio
    with a.client() as first, b.client() as second, c.client() as third:
        for client, others in ((first, ["b", "c"]), (second, ["a", "c"])):
            client.submit(tmp_path / "job.sh", group="g", members=others)
        third.submit(tmp_path / "job.sh", group="g", members=["a", "b"], hold=True)
        wait_until(lambda: first.job(1).group.members[1].id == "1", "it is known")
        assert c.run("submit", "--in-place-of", "1", "job.sh", cwd=tmp_path).stdout == "Submitted job 2 to c\n"
        wait_until(lambda: all(client.jobs(["completed"], group="g") for client in (first, second, third)))
        assert str(first.job(1).group.members[1]) == "c:2"
    assert sorted(start[:2] for start in noted(tmp_path)) == [("a", "1"), ("b", "1"), ("c", "2")]
    assert start_together(trio)
