"""Fluid domains with mates in replays: the case of the design, and what must always hold."""

from pathlib import Path

import pytest

import cosched_sim as sim
from cosched_sim.flags import replay_settings

HEADER = "job_id,submit,min,nodes,run\n"


@pytest.fixture
def replayed(tmp_path: Path):
    def play(a: str, b: str, pairs: str, *options: str, **more):
        for name, text in (("a.csv", HEADER + a), ("b.csv", HEADER + b), ("pairs.csv", "A,B\n" + pairs)):
            (tmp_path / name).write_text(text)
        domains = [
            f"{name},trace={tmp_path / file},nodes=8{option}"
            for name, file, option in zip("AB", ("a.csv", "b.csv"), options, strict=True)
        ]
        return sim.run(replay_settings(domains, None, pairs=str(tmp_path / "pairs.csv"), **more))

    return play


def outcome(result, name: str) -> dict[str, tuple[int, int]]:
    return {
        job: (start, end) for job, start, end in result.frame(name, slice(None)).select("job_id", "start", "end").rows()
    }


@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_a_mate_is_had_by_harvest(replayed, scheme):
    """ "Case: A (8): (0, 2, 8, 100), a2 (10, 4, 4, 50); B (8): (0, 8, 8, 60), b2 (5, 4, 4, 50): a2 yields at 10; both
    start at 60, by harvest in A, whose first ends at 125."
    """
    fluid = f",scheduler=fluid,scheme={scheme}"
    result = replayed(
        "a1,0,2,8,100\na2,10,4,4,50\n", "b1,0,8,8,60\nb2,5,4,4,50\n", "a2,b2\n", fluid, fluid, events=True
    )
    assert outcome(result, "A") == {"a1": (0, 125), "a2": (60, 110)}
    assert outcome(result, "B") == {"b1": (0, 60), "b2": (60, 110)}
    told = [(e["time"], e["event"]) for e in result.events if e["job"] == "a2"]
    assert (10, "yields") in told
    assert {
        "time": 60, "domain": "A", "job": "a1", "event": "has another size", "nodes": 4, "gave_to": "a2",
    } in result.events  # fmt: skip
