"""A job with a mate that stops another one in a real service (heterogeneous.md, With mates)."""

from __future__ import annotations

from pathlib import Path

from tests.live.services import noted, script_that_waits
from tests.waiting import wait_until

SITE = 'preemptive = true\n\n[[machines]]\nclass = "fast"\nnames = ["f1"]\n'
STUBBORN = """#!/bin/bash
trap 'touch {folder}/asked' TERM
echo $$ > {folder}/runs
while [ ! -e {folder}/never ]; do sleep 0.1; done
"""


def test_a_pair_starts_once_nothing_is_left_of_a_run_that_ignores_its_end(make_pair, tmp_path: Path) -> None:
    """ "A job with mates starts only on nodes that are free": its mate holds until the `grace` of the run is over."""
    pair = make_pair(scheme="hold")
    (tmp_path / "site.toml").write_text(SITE)
    (tmp_path / "times.csv").write_text("job_class,resource,seconds\nsort,f1,30\n")
    del pair.a.config["manager"]["policy"]
    pair.a.config["manager"] |= {
        "scheduler": "heterogeneous", "site": str(tmp_path / "site.toml"), "times": str(tmp_path / "times.csv"),
        "slots": 1, "grace": 2,
    }  # fmt: skip
    pair.start()
    end, parted = tmp_path / "end", tmp_path / "parted"
    notes, looks = "#!/bin/bash\n", f"kill -0 $(cat {tmp_path / 'runs'}) 2> /dev/null && touch {parted}\n"
    script = script_that_waits(pair.folder, end).replace(notes, notes + looks)
    with pair.a.client() as a, pair.b.client() as b:
        low = a.submit(STUBBORN.format(folder=tmp_path), columns={"job_class": "sort", "priority": "low"}).id
        wait_until((tmp_path / "runs").exists, "it runs")
        columns = {"job_class": "sort", "priority": "high"}
        here = a.submit(script, columns=columns, pair="p").id
        there = b.submit(script, pair="p").id
        wait_until(lambda: len(noted(pair.folder)) == 2, "both start")
        assert (tmp_path / "asked").exists()
        assert not parted.exists(), "one of them has started while the other's machine was not free"
        assert (a.job(here).state, b.job(there).state) == ("running", "running")
        starts = pair.a.run("show", here).stdout
        end.touch()
        wait_until(lambda: a.job(here).state == b.job(there).state == "completed", "both end")
        a.cancel(low)
    assert "desynchronised" not in starts
    assert not pair.a.faults()
