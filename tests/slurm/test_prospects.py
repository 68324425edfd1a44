"""What a real cluster is told to give to a job that comes now, against Slurm's own words."""

import asyncio
import re
from datetime import datetime

import pytest

from tests.slurm.managed import Managed, Place, places

pytestmark = pytest.mark.soak
AT = re.compile(r"to start at (\S+) using .* on nodes? (\S+)")


made, place = places(nodes=4, cpus=50)


async def test_states_and_starts_are_as_slurm_has_them(place: Place) -> None:
    """One node runs a job of two minutes, one is drained; two are free."""
    cluster, _ = place
    job = cluster.sbatch("sleep 1000", "--exclusive", "--time=2", "--nodelist=intrepid1")
    cluster.scontrol("update", "nodename=intrepid4", "state=drain", "reason=test")
    await asyncio.to_thread(cluster.wait_for_state, job, "RUNNING")
    async with Managed(*place) as slurm:
        states = await slurm.manager.node_states()
        assert states == {"intrepid1": "busy", "intrepid2": "idle", "intrepid3": "idle", "intrepid4": "down"}
        end = datetime.fromisoformat(cluster.job(job)["EndTime"]).timestamp()
        for count, names in [(2, []), (3, []), (1, ["intrepid1"]), (1, ["intrepid3"])]:
            found = await slurm.manager.foresee(count, 60, names)
            assert found.at is not None
            named = [f"--nodelist={','.join(names)}"] if names else []
            asked = ["--exclusive", f"--nodes={count}", "--time=1", *named]
            said = cluster.try_run("sbatch", "--test-only", *asked, text="#!/bin/sh\n").stderr
            its = datetime.fromisoformat(AT.search(said)[1]).timestamp()
            assert abs(found.at - its) <= 2
            assert (found.at >= end) == (count == 3 or names == ["intrepid1"])
        assert (await slurm.manager.foresee(4, 60, [])).at is None
        assert (await slurm.manager.foresee(1, 60, ["intrepid4"])).at is None
    cluster.scontrol("update", "nodename=intrepid4", "state=resume")
