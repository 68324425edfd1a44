"""The site's command runs when a pair starts: once for each job, without a shell, and not for ever."""

import json

from tests.live.services import script_that_notes, wait_until

SCRIPT = """#!/bin/sh
# Notes what it gets; of the pair named slow it does not end.
env | grep COSCHED_ | sort > "$1/$COSCHED_JOB_ID.part"
mv "$1/$COSCHED_JOB_ID.part" "$1/$COSCHED_JOB_ID"
if [ "$COSCHED_PAIR" = slow ]; then sleep 600; fi
if [ "$COSCHED_PAIR" = bad ]; then echo "no mail today" >&2; exit 3; fi
"""


def test_the_command_gets_the_job_and_is_bounded(make_pair, tmp_path):
    hook, told = tmp_path / "hook", tmp_path / "told; rm"  # the name would hurt in a shell
    hook.write_text(SCRIPT)
    hook.chmod(0o755)
    told.mkdir()
    pair = make_pair(scheme="hold")
    pair.a.config["events"] = {"on_pair_start": [str(hook), str(told)], "timeout": 1}
    pair.start()
    script = script_that_notes(pair.folder)
    with pair.a.client() as a, pair.b.client() as b:
        a.submit(script)
        jobs = []
        for name in ("slow", "bad", "good"):
            jobs.append(a.submit(script, pair=name))
            b.submit(script, pair=name)
        wait_until(lambda: (told / jobs[-1].id).exists(), "it has run for all")
        owner = jobs[0].owner
    assert {path.name for path in told.iterdir()} == {job.id for job in jobs}, "job 1 has no mate"
    got = dict(line.split("=", 1) for line in (told / jobs[-1].id).read_text().splitlines())
    words = [got[f"COSCHED_{name}"] for name in ("DOMAIN", "JOB_ID", "OWNER", "PAIR", "NODES")]
    assert words == ["a", jobs[-1].id, owner, "good", "1"]
    assert [(mate["domain"], mate["job_id"]) for mate in json.loads(got["COSCHED_MATES"])] == [("b", "3")]
    assert "no answer from on_pair_start within 1 s" in pair.a.log
    assert "has failed (3): no mail today" in pair.a.log
    assert not pair.a.faults()


def test_events_are_lines_of_json(make_service):
    service = make_service("a").start()
    with service.client() as client:
        job = client.submit(script_that_notes(service.folder))
        wait_until(lambda: client.job(job).state == "completed")
    lines = service.run("events", "--json", "--until-now", "--kind", "started", "--kind", "ended").stdout.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["started", "ended"]
    assert "not one of" in service.run("events", "--kind", "odd").stderr
