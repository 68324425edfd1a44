"""Fluid domains with mates in replays: the case of the design."""

import pytest

import cosched_sim as sim
from cosched_sim.flags import replay_settings

A = "job_id,submit,min,nodes,run\na1,0,2,8,100\na2,10,4,4,50\n"
B = "job_id,submit,min,nodes,run\nb1,0,8,8,60\nb2,5,4,4,50\n"


@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_a_mate_is_had_by_harvest(tmp_path, scheme):
    """ "Case: A (8): (0, 2, 8, 100), a2 (10, 4, 4, 50); B (8): (0, 8, 8, 60), b2 (5, 4, 4, 50): a2 yields at 10; both
    start at 60, by harvest in A, whose first ends at 125."
    """
    files = {name: tmp_path / f"{name}.csv" for name in ("A", "B", "pairs")}
    for name, text in (("A", A), ("B", B), ("pairs", "A,B\na2,b2\n")):
        files[name].write_text(text)
    domains = [f"{name},trace={files[name]},nodes=8,scheduler=fluid,scheme={scheme}" for name in "AB"]
    result = sim.run(replay_settings(domains, None, pairs=str(files["pairs"]), events=True))
    had = {name: result.frame(name, slice(None)).select("job_id", "start", "end").rows() for name in "AB"}
    assert had == {"A": [("a1", 0, 125), ("a2", 60, 110)], "B": [("b1", 0, 60), ("b2", 60, 110)]}
    assert (10, "yields") in [(e["time"], e["event"]) for e in result.events if e["job"] == "a2"]
    assert {
        "time": 60, "domain": "A", "job": "a1", "event": "has another size", "nodes": 4, "gave_to": "a2",
    } in result.events  # fmt: skip
