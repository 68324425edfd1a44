"""`cosched select`: its answers, and what it says of files that it cannot use."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from cosched.cli.main import main

TOP = Path(__file__).parents[2]
EXAMPLE = str(TOP / "deploy/examples/grid.toml")
ONE = '[[machine]]\nname = "a.x"\nspeed = 400\nmemory = 100\n'


def select(file: object, *options: str, application: str = "jacobi", size: int = 4800) -> Result:
    line = ["select", "--machines", str(file), "--application", application, "--size", str(size), *options]
    return CliRunner().invoke(main, line)


def told(file: object, *options: str, **what: object) -> dict:
    ran = select(file, "--json", *options, **what)
    assert (ran.exit_code, ran.stderr) == (0, "")
    return json.loads(ran.stdout)


@pytest.fixture
def written(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "grid.toml"
        path.write_text(text)
        return path

    return write


def test_json_has_the_schedule_and_what_was_considered():
    found = told(EXAMPLE)
    assert found == {
        "machines": ["b1.beta.org", "b2.beta.org"], "rows": [2400, 2400], "time_s": pytest.approx(0.8476, rel=1e-3),
        "metric": "computation", "candidates": 60, "distinct": 20, "excluded": {"c2.gamma.org": ["speed"]},
    }  # fmt: skip


def test_what_holds_now_counts_only_for_the_dynamic_strategy(written):
    """a is half taken, and b has little memory left; static: all of the processor, 0.9 of what is installed."""
    path = written(
        '[[machine]]\nname = "a"\nspeed = 800\ncpu = 0.25\ninstalled = 1024\n'
        '[[machine]]\nname = "b"\nspeed = 400\nmemory = 300\ninstalled = 1024\n'
    )
    assert told(path)["machines"] == ["b"]
    assert told(path, "--strategy", "static")["machines"] == ["a"]
    assert told(path, size=7000)["machines"] == ["a"]
    assert told(path, "--strategy", "user") == {
        "machines": ["a"], "rows": [4800], "time_s": pytest.approx(1.152), "metric": None,
        "candidates": None, "distinct": None, "excluded": {},
    }  # fmt: skip


def test_a_machine_without_a_speed_is_excluded_and_one_without_a_link_is_alone(written):
    """b has no speed, x-y no link: b excluded, 12 candidates, c alone."""
    speeds = {"a.x": "speed = 100", "b.x": "", "c.y": "speed = 200"}
    tables = (f'[[machine]]\nname = "{name}"\nmemory = 100\n{speed}\n' for name, speed in speeds.items())
    found = told(written("".join(tables)), size=100)
    assert found["excluded"] == {"b.x": ["speed"]}
    assert (found["candidates"], found["machines"], found["rows"]) == (12, ["c.y"], [100])


def test_explain_tells_of_each_collection_why_it_lost():
    said = select(EXAMPLE, "--explain").stdout
    assert re.search(r"^beta\.org +2 +computation +848 ms +chosen$", said, re.MULTILINE)
    assert re.search(r"^alpha\.org beta\.org +4 +computation +\d+ ms +[\d.]+ % slower$", said, re.MULTILINE)
    assert re.search(r"^gamma\.org +too little memory: for [\d,]+ of 4,800 rows$", said, re.MULTILINE)
    each = told(EXAMPLE, "--explain")["collections"]
    assert len(each) == 7
    assert min(one["time_s"] for one in each if "time_s" in one) == told(EXAMPLE)["time_s"]
    assert sum("why" in one for one in each) == 1


def test_other_applications_have_units_of_their_own():
    assert sum(told(EXAMPLE, application="blocks", size=1000)["elements"]) == 1_000_000
    assert sum(told(EXAMPLE, application="master-worker", size=77)["tasks"]) == 77
    assert told(EXAMPLE, application="jacobi,cycles=20")["time_s"] < told(EXAMPLE)["time_s"]


def test_metrics_sites_and_limits_can_be_chosen():
    assert told(EXAMPLE, "--metric", "memory")["candidates"] == 20
    assert told(EXAMPLE, "--metric", "memory")["metric"] == "memory"
    assert told(EXAMPLE, "--sites", "delay")["candidates"] == 60
    limited = told(EXAMPLE, "--most", "30")
    assert (limited["candidates"], limited["left_out"]) == (27, 33)
    assert "left out: 33 candidates, of 3 sets of 2 or more sites\n" in select(EXAMPLE, "--most", "30").stdout


def test_the_picture_has_a_box_and_a_bar_for_each_machine(tmp_path):
    for application in ("jacobi", "blocks", "master-worker"):
        path = tmp_path / "map.svg"
        found = told(EXAMPLE, "--plot", str(path), application=application)
        picture = ElementTree.parse(path).getroot()
        named = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
        assert named[1:] == found["machines"]
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        assert all(any(text.startswith(f"{name}: ") for text in texts) for name in found["machines"])


SOURCE = '[[source]]\nkind = "series"\nfile = "nws.csv"\n'


def test_sources_come_before_what_the_list_says_if_the_strategy_is_dynamic(written):
    """Half of a's processor is taken lately; at any time a process gets all of it."""
    path = written(ONE + SOURCE)
    (path.parent / "nws.csv").write_text(
        "time,kind,of,to,value\n" + "".join(f"{at},cpu,a.x,,0.5\n{at},memory,a.x,,50\n" for at in range(9))
    )
    listed = told(written(ONE), size=500)["time_s"]
    written(ONE + SOURCE)
    assert told(path, size=500)["time_s"] == pytest.approx(2 * listed)
    assert told(path, "--strategy", "static", size=500)["time_s"] == listed


def test_what_is_wrong_with_a_source_is_told_and_the_rest_counts(written):
    path = written(ONE + SOURCE + SOURCE.replace("nws", "old") + "max_age = 60\n")
    (path.parent / "old.csv").write_text("time,kind,of,to,value\n0,cpu,a.x,,0.5\n")
    ran = select(path, "--json", size=500)
    assert json.loads(ran.stdout)["machines"] == ["a.x"]
    assert ran.stderr == (
        f"source 1 (series): {path.parent}/nws.csv cannot be read: No such file or directory\n"
        "source 2 (series): 1 value older than 60 s\n"
    )


LINK = '[[link]]\nfrom = "a.x"\nto = "a.x"\n'
MISTAKES = {
    "a machine twice": (ONE + ONE, "machine.'a.x': listed twice"),
    "a link to nobody": (
        ONE + '[[link]]\nfrom = "a.x"\nto = "b.y"\nbandwidth = 1\n',
        "link.1.to: 'b.y' is not a machine or a segment that is listed here",
    ),
    "a link twice": (ONE + 2 * (LINK + "latency = 1\n"), "link: the link from a.x to a.x is listed twice"),
    "a link without values": (ONE + LINK, "link.1: has neither bandwidth nor latency"),
    "an unknown unit": (
        ONE.replace("400", '"400 GFlops"'), "machine.'a.x'.speed: '400 GFlops' is not a number of MHz, GHz"
    ),
    "a word": (ONE + 'cpu = "half"\n', "machine.'a.x'.cpu: 'half' is not a number"),
    "too large a share": (ONE + "cpu = 2\n", "machine.'a.x'.cpu: 2 is above 1"),
    "no speed": (ONE.replace("400", "0"), "machine.'a.x'.speed: 0 is not above 0"),
    "a key misspelt": (ONE + "sped = 1\n", "machine.'a.x'.sped: no such key; did you mean speed?"),
    "a table misspelt": (ONE + '[[links]]\nfrom = "a.x"\n', "links: no such key; did you mean link?"),
    "one table": ('[machine]\nname = "a"\n', "machine: each is a table under a line [[machine]]"),
    "nothing": ("", "machine: at least one machine is needed: each is a table under a line [[machine]]"),
    "no usable machine": ('[[machine]]\nname = "a.x"\n', " no machine can be used: a.x (no speed and memory)"),
    "too little memory": (
        ONE.replace("100", "1"),
        " no schedule for jacobi, size 4,800, on 1 machine: too little memory: for 22 of 4,800 rows",
    ),
    "a source of no kind": (
        ONE + "[[source]]\nfile = 1\n",
        "source.1.kind: missing; there are domains, host, node_exporter, pbs, series, slurm",
    ),
    "an unknown source": (
        ONE + '[[source]]\nkind = "mds"\n',
        "source.1.kind: no kind is called 'mds'; there are domains, host, node_exporter, pbs, series, slurm",
    ),
    "a source without its file": (ONE + '[[source]]\nkind = "series"\n', "source.1.file: missing"),
    "a source's key misspelt": (ONE + SOURCE + "maxage = 1\n", "source.1.maxage: no such key; did you mean max_age?"),
    "no time": (ONE + SOURCE + "timeout = 0\n", "source.1.timeout: 0 is not above 0"),
    "a domain twice": (2 * '[[domain]]\nname = "mira"\n', "domain.mira: listed twice"),
    "no name of a domain": (
        '[[domain]]\nname = "a b"\n',
        "domain.'a b'.name: 'a b' is not a name: use 1 to 64 letters, digits, '_', '-' or '.'",
    ),
    "no TOML": ("speed\n", "1: not valid TOML: Expected '=' after a key in a key/value pair"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line(mistake, written):
    text, reason = MISTAKES[mistake]
    path = written(text)
    ran = select(path)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == f"cosched: {path}:{reason}\n"


def test_a_domain_that_cannot_be_asked_is_told_of(written, monkeypatch):
    monkeypatch.setenv("COSCHED_DOMAINS", "mira=unix:none")
    ran = select(path := written('[[domain]]\nname = "eureka"\n'))
    assert (ran.exit_code, ran.stdout) == (2, "")
    unknown, nothing = ran.stderr.splitlines()
    assert unknown.startswith("eureka: the address of domain eureka is not known (known: mira): ")
    assert nothing == f"cosched: {path}: no machine can be used: eureka told of none"


@pytest.mark.parametrize(
    ("options", "application", "reason"),
    [
        ([], "jakobi", "--application: no application is called 'jakobi'; did you mean jacobi?"),
        ([], "jacobi,cycle=3", "--application jacobi:cycle: no such key; did you mean cycles?"),
        ([], "jacobi,cycles=x", "--application jacobi:cycles: 'x' is not a number"),
        ([], "jacobi,cycles", "--application jacobi: key=value expected, not 'cycles'"),
        ([], "jacobi,cycles=1,cycles=2", "--application jacobi:cycles: given twice"),
        (["--plot", "x.png"], "jacobi", "--plot: 'x.png' does not end in .svg, the format that is drawn"),
        (["--machines", "none.toml"], "jacobi", "none.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(options, application, reason):
    ran = select(EXAMPLE, *options, application=application)
    assert (ran.exit_code, ran.stdout, ran.stderr) == (2, "", f"cosched: {reason}\n")


def test_units_may_be_written(written):
    plain = written(ONE)
    expected = told(plain, size=500)
    assert told(written(ONE.replace("400", '"0.4 GHz"').replace("100", '"100 MB"')), size=500) == expected
