"""The kinds of sources, with real processes, servers and files, and with recorded output."""

import http.server
import json
import socket
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cosched.planning.facts import Facts, Listed
from cosched.planning.information import domains, patience
from cosched.planning.information.batch_systems import PBS, SLURM, nodes_of_pbs, nodes_of_slurm
from cosched.planning.information.domains import free
from cosched.planning.information.gathering import Asked, gather
from cosched.planning.information.host import HOST_SOURCE, share_of_a_new_process
from cosched.planning.information.node_exporter import NODE_EXPORTER, readings
from cosched.planning.information.series import SERIES
from cosched.planning.information.source import SourceError
from tests.planning.information.waited import threads_that_end

RECORDED = Path(__file__).parent / "recorded"
PBS_NODES = Path(__file__).parents[2] / "adapters/pbs/recorded/nodes.json"
METRICS = """\
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1030.5
node_cpu_seconds_total{cpu="0",mode="user"} 12.25
node_cpu_seconds_total{cpu="1",mode="idle"} 1000.5
# HELP node_cpu_frequency_max_hertz Maximum CPU thread frequency in hertz.
# TYPE node_cpu_frequency_max_hertz gauge
node_cpu_frequency_max_hertz{cpu="0"} 2.4e+09
node_cpu_frequency_max_hertz{cpu="1"} 2.4e+09
# HELP node_load1 1m load average.
# TYPE node_load1 gauge
node_load1 3
# HELP node_memory_MemAvailable_bytes Memory information field MemAvailable_bytes.
# TYPE node_memory_MemAvailable_bytes gauge
node_memory_MemAvailable_bytes 1.073741824e+09
"""


def known(kind, names, folder=Path("."), timeout=10.0, **settings) -> tuple[Facts, list[str]]:
    checked = kind.settings.model_validate({"kind": kind.name, "timeout": timeout, **settings})
    asked = Asked(kind.name, kind.make(checked, folder), float(checked.timeout), None)
    gather([asked], [Listed(name, "") for name in names])
    return asked.facts, asked.problems


class Exporter(http.server.BaseHTTPRequestHandler):
    """Answers by the first part of the path, which is a machine."""

    ended = threading.Event()

    def do_GET(self):
        machine = self.path.split("/")[1]
        if machine == "hangs":
            self.ended.wait()
            return
        self.send_response(404 if machine == "none" else 200)
        self.end_headers()
        if machine == "drips":
            while not self.ended.wait(0.05):
                try:
                    self.wfile.write(b"# a\n")
                except OSError:
                    return
        self.wfile.write(b"<html>" if machine == "html" else METRICS.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def exporter():
    Exporter.ended.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{{machine}}/metrics"
    Exporter.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_node_exporter_tells_clock_share_and_memory():
    found = {reading.kind: reading.value for reading in readings("a", METRICS)}
    assert found == {"speed": 2400, "cpu": 0.5, "memory": 1024}  # 2 processors for 3 processes and ours


def test_exporters_that_hang_or_fail_do_not_hide_the_others(exporter, monkeypatch):
    never = {"hangs", "drips"}
    threads = threads_that_end(lambda call: bool(never.intersection(map(str, getattr(call, "args", ())))))
    monkeypatch.setattr(patience, "threading", SimpleNamespace(Thread=threads))
    facts, problems = known(NODE_EXPORTER, ["a", "hangs", "none", "drips", "html", "b"], timeout=100, url=exporter)
    assert {kind: sorted(values) for kind, values in facts.machines.items()} == {
        "speed": ["a", "b"], "cpu": ["a", "b"], "memory": ["a", "b"]
    }  # fmt: skip
    told = {line.split(": ")[1]: line.split(": ", 2)[2] for line in problems}
    assert told.keys() == {"hangs", "none", "drips", "html"}
    assert told["none"] == "Not Found"
    assert told["hangs"] == told["drips"] == "no answer within 90 s"


def test_only_some_machines_may_have_an_exporter(exporter):
    facts, problems = known(NODE_EXPORTER, ["a", "hangs"], url=exporter, machines=["a"])
    assert (list(facts.machines["speed"]), problems) == (["a"], [])
    facts, problems = known(NODE_EXPORTER, ["a"], url=exporter, machines=["a", "b"])
    assert (list(facts.machines["speed"]), problems) == (["a"], ["node_exporter: b is not listed"])


def test_nobody_at_the_port_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/metrics"
        facts, (problem,) = known(NODE_EXPORTER, ["a"], url=url)
    assert facts == Facts()
    assert "Connection refused" in problem


def test_the_host_is_as_psutil_sees_it():
    facts, problems = known(HOST_SOURCE, ["other", socket.gethostname()])
    name = socket.gethostname()
    assert problems == []
    assert facts.machines["memory"][name] == pytest.approx(psutil.virtual_memory().available / 2**20, rel=0.5)
    assert 0 < facts.machines["cpu"][name] <= 1
    assert known(HOST_SOURCE, ["me.org"], machine="me.org")[0].machines["memory"].keys() == {"me.org"}
    facts, (problem,) = known(HOST_SOURCE, ["other.org"])
    assert (facts, problem.endswith("is not listed")) == (Facts(), True)


def test_a_new_process_shares_alike_with_those_that_run():
    """min(1, processors / (1 + k)) for k competing processes."""
    assert [share_of_a_new_process(2, load) for load in (0, 1, 3, 7)] == [1, 1, 0.5, 0.25]


def test_nodes_of_slurm_are_read_from_recorded_output():
    found = {
        (reading.kind, reading.of): reading.value for reading in nodes_of_slurm((RECORDED / "sinfo.txt").read_bytes())
    }
    assert {name: share for (kind, name), share in found.items() if kind == "cpu"} == {
        "intrepid1": 0, "intrepid2": 0, "intrepid3": 1, "intrepid4": 1
    }  # fmt: skip
    assert found["memory", "intrepid3"] > 1000


def test_nodes_of_slurm_have_the_memory_that_is_neither_given_away_nor_in_use():
    lines = b"n1 mixed 3/1/0/4 4096 1024 9999\nn2 mixed 3/1/0/4 4096 1024 500\nn3 idle 0/4/0/4 4096 0 N/A\n"
    memory = {reading.of: reading.value for reading in nodes_of_slurm(lines) if reading.kind == "memory"}
    assert memory == {"n1": 3072, "n2": 500, "n3": 4096}
    with pytest.raises(SourceError, match="sinfo printed 'n1 idle', not a node in six words"):
        list(nodes_of_slurm(b"n1 idle\n"))


def test_nodes_of_pbs_are_read_from_recorded_output():
    found = {(reading.kind, reading.of): reading.value for reading in nodes_of_pbs(PBS_NODES.read_bytes())}
    assert found["cpu", "mira1"] == 0  # job-exclusive
    assert found["cpu", "mira2"] == 1
    assert found["memory", "mira"] == 24684096 / 1024
    some = {"nodes": {"n": {"state": "free", "resources_available": {"ncpus": 4, "mem": "8gb"},
                            "resources_assigned": {"ncpus": 3, "mem": "1048576kb"}}}}  # fmt: skip
    assert [reading.value for reading in nodes_of_pbs(json.dumps(some).encode())] == [1, 7168]
    for wrong in (b"no", b"{}", b'{"nodes": {"n": {}}}', b'{"nodes": [1]}'):
        with pytest.raises(SourceError, match="pbsnodes printed no nodes as JSON"):
            list(nodes_of_pbs(wrong))


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return folder


def test_commands_of_batch_systems_are_run(tmp_path):
    program(tmp_path, "sinfo", f"exec cat {RECORDED / 'sinfo.txt'}")
    program(tmp_path, "pbsnodes", f"exec cat {PBS_NODES}")
    facts, problems = known(SLURM, [], bin=tmp_path, suffix="anl.gov")
    assert (facts.machines["cpu"]["intrepid3.anl.gov"], problems) == (1, [])
    facts, problems = known(PBS, [], tmp_path.parent, bin=tmp_path.name)  # relative to the list of machines
    assert (facts.machines["cpu"]["mira2"], problems) == (1, [])


def test_a_command_that_fails_is_told_and_one_that_hangs_is_ended(tmp_path):
    program(tmp_path, "sinfo", "echo slurm_load_node error: Unable to contact slurm controller >&2; exit 1")
    assert known(SLURM, [], bin=tmp_path)[1] == [
        "slurm: sinfo: slurm_load_node error: Unable to contact slurm controller"
    ]
    assert known(PBS, [], bin=tmp_path)[1] == [f"pbs: pbsnodes is not found in {tmp_path}"]
    program(tmp_path, "pbsnodes", "exec sleep 1000")
    checked = PBS.settings.model_validate({"kind": "pbs", "timeout": 1, "bin": tmp_path})
    with pytest.raises(SourceError, match=r"pbsnodes: no answer from PBS within 0\.9 s"):  # its own deadline
        PBS.make(checked, tmp_path).read([], print)
    assert not [child for child in psutil.Process().children(recursive=True) if "1000" in child.cmdline()]


SERIES_FILE = """\
time,kind,of,to,value
1000,cpu,a.x,,0.5
1060,cpu,a.x,,0.5
1120,cpu,a.x,,0.5
1000,bandwidth,x,y,2
1060,bandwidth,x,y,4
1120,bandwidth,x,y,9
"""


def test_series_are_forecast_and_have_means(tmp_path):
    (tmp_path / "nws.csv").write_text(SERIES_FILE)
    facts, problems = known(SERIES, [], tmp_path, file="nws.csv")
    assert (facts.machines, problems) == ({"cpu": {"a.x": 0.5}}, [])
    assert facts.links["bandwidth"]["x", "y"] in (9, 5, pytest.approx(7.75))
    checked = SERIES.settings.model_validate({"kind": "series", "file": "nws.csv", "max_age": 60})
    means, forecasts = (Asked("s", make(checked, tmp_path), 10.0, 60.0) for make in (SERIES.mean, SERIES.make))
    gather([means, forecasts], [], lambda: 1190.0)
    assert means.facts.links == {"bandwidth": {("x", "y"): 5}}  # long-term: it does not age
    assert (forecasts.facts, forecasts.problems) == (Facts(), ["s: 2 values older than 60 s"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "nws.csv cannot be read: No such file or directory"),
        ("time,kind,value\n", "nws.csv has no column of nor to"),
        (SERIES_FILE + "soon,cpu,a.x,,1\n", "nws.csv:8: time and value are not numbers"),
    ],
)
def test_a_wrong_file_is_told(text, reason, tmp_path):
    if text is not None:
        (tmp_path / "nws.csv").write_text(text)
    facts, (problem,) = known(SERIES, [], tmp_path, file="nws.csv")
    assert facts == Facts()
    assert problem == f"series: {tmp_path}/{reason}"


def test_it_is_now_by_the_clock_of_the_host(tmp_path):
    (tmp_path / "nws.csv").write_text(f"time,kind,of,to,value\n{time.time()},cpu,a,,1\n")
    checked = SERIES.settings.model_validate({"kind": "series", "file": "nws.csv"})
    asked = Asked("s", SERIES.make(checked, tmp_path), 10.0, 3600.0)
    gather([asked], [])
    assert asked.facts.machines == {"cpu": {"a": 1}}


def test_free_nodes_of_a_domain_are_those_with_their_names_or_as_many():
    groups = [
        SimpleNamespace(state="idle", count=2, names=("n1", "n4")),
        SimpleNamespace(state="busy", count=1, names=("n2",)),
        SimpleNamespace(state="unknown", count=1, names=("n3",)),
    ]
    named = [Listed(f"{node}.x", "x", "mira", node) for node in ("n1", "n2", "n3", "n5")]
    known = {"n1.x": 1, "n2.x": 0, "n5.x": 0}
    assert {reading.of: reading.value for reading in free(named, groups)} == known
    groups[0].names = ()
    del known["n1.x"], known["n5.x"]  # as many are free, but who knows which?
    assert {reading.of: reading.value for reading in free(named, groups)} == known
    groups[0].names = ("n1", "n4")
    unnamed = [Listed(f"m{number}", "x", "mira") for number in range(3)]
    assert [reading.value for reading in free(unnamed, groups)] == [1, 1, 0]
    assert [reading.value for reading in free([named[0], *unnamed], groups)] == [1, 1, 0, 0]


def of_domain(name: str, **values: object) -> SimpleNamespace:
    known = {"node": None, "state": "idle", "speed": None, "cpu": None, "memory": None}
    return SimpleNamespace(name=name, segment="x", **known | values)


def test_a_domain_tells_of_machines_by_their_nodes_or_names(monkeypatch):
    """A machine that is not free gives a job nothing; of one whose state is not known, what else is known counts."""
    machines = [
        of_domain("one.x", node="n1", speed=400.0, cpu=0.5, memory=9.0),
        of_domain("two.x", node="n2", state="busy", cpu=0.9),
        of_domain("three.x", node="n3", state="unknown", cpu=0.7),
        of_domain("four.x", node="n4"),
        of_domain("nobody.x", node="n5"),
    ]
    link = SimpleNamespace(start="x", to="y", bandwidth=6.0, latency=None)
    answer = SimpleNamespace(
        machines=machines, links=[link], problems=["no sinfo"], gathered_at=datetime.fromtimestamp(7, UTC)
    )
    asked: list[tuple[str, bool]] = []

    def call(domain: str, lasting: bool) -> object:
        asked.append((domain, lasting))
        if domain == "gone":
            raise SourceError("is not there")
        return answer if domain == "mira" else [SimpleNamespace(state="idle", count=1, names=())]

    monkeypatch.setattr(domains, "_call", call)
    listed = [Listed("my.x", "x", "mira", "n1"), Listed("two.x", "x", "mira"), Listed("three.x", "x", "mira"),
              Listed("four.x", "x", "mira", "n4"), Listed("five.x", "x", "mira"), Listed("old.y", "y", "old"),
              Listed("else.z", "z", "gone"), Listed("mine", "")]  # fmt: skip
    told: list[str] = []
    present = domains.Domains(5.0, lasting=False).read(listed, told.append)
    assert present == [
        ("speed", "my.x", 400, 7), ("memory", "my.x", 9, 7), ("cpu", "my.x", 0.5, 7), ("cpu", "two.x", 0, 7),
        ("cpu", "three.x", 0.7, 7), ("cpu", "four.x", 1, 7), ("bandwidth", ("x", "y"), 6, 7), ("cpu", "old.y", 1, None),
    ]  # fmt: skip
    assert told == ["mira: no sinfo", "gone: is not there"]
    assert sorted(asked) == [("gone", False), ("mira", False), ("old", False)]
    lasting = domains.Domains(5.0, lasting=True).read(listed, told.append)
    assert [(kind, of, value) for kind, of, value, _ in lasting if kind == "cpu"] == [
        ("cpu", name, 1) for name in ("my.x", "two.x", "three.x", "four.x")
    ]
    names = [machine.name for machine in domains.listed_by(["mira", "old"], 5.0, told.append)]
    assert names == [machine.name for machine in machines]
    assert told[-1].startswith("old lists no machines")
