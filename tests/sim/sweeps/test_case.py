"""A case: what it is known by, and that it gives what `cosched replay` gives."""

import json
from pathlib import Path

from cosched_sim.sweeps.case import Case, run_case
from cosched_sim.workload.generate import generate
from cosched_sim.workload.traces import write_swf
from tests.sim.sweeps.small import failing, pair


def flattened(value, path):
    if isinstance(value, dict):
        return {name: leaf for key, inner in value.items() for name, leaf in flattened(inner, f"{path}.{key}").items()}
    return {} if isinstance(value, str) else {path: value}


def test_a_row_is_what_a_replay_with_the_same_flags_says(cosched):
    row = run_case(Case(pair(seed=4, pair_window="20m"), {"schemes": "HH", "replication": 4}))
    machines = [f"--domain={name},trace=generated:{name}/jobs=20" for name in ("intrepid", "eureka")]
    said = json.loads(cosched("replay", *machines, "--pair-window", "20m", "--seed", 4, "--json").stdout)
    expected = {f"pairs.{key}": value for key, value in said["pairs"].items() if key != "gap_s"}
    expected |= flattened(said["pairs"]["gap_s"], "pairs.gap_s") | {"stalled": said["stalled"]}
    for name, domain in said["domains"].items():
        expected |= flattened(domain, name)
    assert list(row)[:4] == ["case", "schemes", "replication", "error"]
    left_out = [key for key in row if ".rejected." in key]
    assert len(left_out) == 10
    assert {key: row[key] for key in list(row)[4:] if key not in left_out} == expected
    assert row["pairs.pairs"] > 0


def test_a_label_that_is_called_like_a_measure_is_there_once():
    settings = pair()
    settings["domains"][1]["nodes"] = 100
    row = run_case(Case(settings, {"eureka.nodes": 100}))
    assert row["eureka.nodes"] == 100
    assert list(row).index("eureka.nodes") < list(row).index("error")


def test_the_key_is_that_of_the_settings_in_any_order():
    settings = pair(seed=1)
    assert Case(settings, {}).key == Case(dict(reversed(settings.items())), {"schemes": "HH"}).key
    assert Case(settings, {}).key != Case(pair(seed=2), {}).key
    assert len(Case(settings, {}).key) == 16


def test_the_key_is_that_of_the_content_of_files(tmp_path: Path):
    def key(name):
        return Case({"domains": [{"name": "a", "trace": str(tmp_path / name)}]}, {}).key

    for name, seed in (("a.swf", 1), ("b.swf", 1), ("c.swf", 2)):
        write_swf(generate("eureka", jobs=5, seed=seed), tmp_path / name)
    assert key("a.swf") == key("b.swf") != key("c.swf")
    before = key("a.swf")
    (tmp_path / "a.swf").write_bytes((tmp_path / "c.swf").read_bytes())
    assert before != key("a.swf") == key("c.swf")


def test_what_goes_wrong_is_in_the_row():
    assert run_case(failing()) == {"case": failing().key, "schemes": "bad", "error": "case:pair_fraction: 2 is above 1"}
    missing = run_case(Case({"domains": [{"name": "a", "trace": "no.swf"}]}, {}))
    assert missing["error"] == "no.swf: cannot be read: No such file or directory"
    endless = run_case(Case(pair(jobs=10**14), {}))
    assert endless["error"].startswith("MemoryError: Unable to allocate")
    assert "\n" not in endless["error"]
