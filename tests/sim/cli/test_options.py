"""Domains and pairs from flags and a TOML file."""

from decimal import Decimal
from pathlib import Path

import pytest

from cosched.core.settings import OnMemberLost, OnMemberRequeued
from cosched.schedulers.batch import BATCH
from cosched.schedulers.loading import kinds
from cosched.validation.schemes import SchemeChoice
from cosched.words.errors import InputError
from cosched_sim.flags import parse_domain, replay_settings
from cosched_sim.workload.log_options import LogOptions

NONE = {
    "pairs": None, "pair_window": None, "pair_fraction": None, "group_size": None, "seed": None, "overrun": None,
    "script": None, "events": False,
}  # fmt: skip


def settings(*domains, config=None, **options):
    return replay_settings(domains, config, **{**NONE, **options})


def refusal(*domains, config=None, **options):
    with pytest.raises(InputError) as caught:
        settings(*domains, config=config, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def toml(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        Path("r.toml").write_text(text)
        return "r.toml"

    return write


def test_a_domain():
    assert parse_domain("a,trace=x.swf,nodes=5") == {"name": "a", "trace": "x.swf", "nodes": "5"}


def test_commas_in_parentheses_and_later_equals_signs_belong_to_the_value():
    text = "a,policy=min(wait,max(nodes,9))*2,trace=k=v.swf"
    assert parse_domain(text) == {"name": "a", "policy": "min(wait,max(nodes,9))*2", "trace": "k=v.swf"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "--domain: NAME,key=value,... expected, but '' begins with no name"),
        ("trace=x", "--domain: NAME,key=value,... expected, but 'trace=x' begins with no name"),
        ("a,trace", "--domain a: key=value expected, not 'trace'"),
        ("a,", "--domain a: key=value expected, not ''"),
        ("a,nodes=1,nodes=2", "--domain a:nodes: given twice"),
        ("a,policy=min(wait,9", "--domain: the parentheses of 'a,policy=min(wait,9' do not match"),
        ("a,policy=wait),x=(", "--domain: the parentheses of 'a,policy=wait),x=(' do not match"),
    ],
)
def test_what_is_no_domain(text, reason):
    assert refusal(text) == reason


def test_every_key_of_a_domain():
    domain = settings(
        "a,trace=x,format=csv,nodes=8,procs_per_node=2,cut=1h..2d,load=0.5,estimates=2,policy=fcfs,"
        "backfill=none,node_pool=partitioned:4x2,scheme=yield,release_interval=90s,release_jitter=0.1,release_order=last,"
        "max_held_fraction=1,max_yields=3,yield_boost=0.2,on_peer_unreachable=hold,mate_patience=1w,"
        "peer_grace=2m,mate_budget=0.25,slots=on,shift=-2d,skip_bad=3,columns=(JobID,Submit%20),timezone=Europe/Berlin,"
        "runs=all,partition_limit=(batch=24h,*=7d),"
        "on_member_lost=cancel,successor_patience=5m,successor_hold=1m,on_member_requeued=requeue,max_requeues=2"
    ).domains[0]
    assert domain.options == LogOptions(3, ("JobID", "Submit"), "Europe/Berlin", "all", {"batch": 86_400, "*": 604_800})
    assert domain.cut == (3600, 172_800)
    assert domain.scheme is SchemeChoice.YIELD
    assert (domain.mate_budget, domain.slots) == (Decimal("0.25"), True)
    assert (domain.release_interval, domain.mate_patience) == (90, 604_800)
    assert (domain.on_member_lost, domain.on_member_requeued) == (OnMemberLost.CANCEL, OnMemberRequeued.REQUEUE)
    assert (domain.successor_patience, domain.successor_hold, domain.max_requeues) == (300, 60, 2)
    assert (domain.load, domain.release_jitter) == (Decimal("0.5"), Decimal("0.1"))
    given = domain.model_fields_set
    of_others = {key for kind in kinds().values() if kind is not BATCH for key in kind.keys.model_fields}
    assert set(type(domain).model_fields) - given == {"scale", "start", "scheduler"} | of_others - {"backfill"}
    assert domain.shift == -172_800


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("policy=nice", "policy: no policy 'nice': it is one of fcfs"),
        ("policy=wait+", "policy: 'wait+': a number, wait, requested"),
        ("policy=__import__('os')", 'policy: "__import__(\'os\')": unexpected "\'"'),
        ("shift=early", "shift: 'early' is not a duration such as 90, 20m, 12h or 3d"),
        ("shift=1h,start=0", ": shift and start exclude each other"),
        ("release_interval=5x", "release_interval: '5x' is not a duration such as 90, 20m, 12h or 3d"),
        ("mate_patience=-5", "mate_patience: '-5' is not a duration"),
        ("release_jitter=2", "release_jitter: 2 is not between 0 and 1"),
        ("max_yields=-1", "max_yields: -1 is not between 0 and"),
        ("nodes=0", "nodes: '0' is below 1"),
        ("nodes=many", "nodes: 'many' is not a whole number"),
        ("nodes=1.5", "nodes: '1.5' is not a whole number"),
        ("load=none", "load: 'none' is not a number"),
        ("load=nan", "load: 'nan' is not a number"),
        ("load=0", "load: '0' is not above 0"),
        ("load=1,scale=1", ": load and scale exclude each other"),
        ("cut=20d", "cut: '20d' is not a time window START..END such as 0..20d"),
        ("scheme=wait", "scheme: 'wait' is not 'hold', 'yield', 'off' or 'meet'"),
        ("mate_budget=11", "mate_budget: 11 is not between 0 and 10; 0.5 is usual"),
        ("mate_budget=0.1234567", "mate_budget: 0.1234567 has more than 6 digits after the point: round it"),
        ("mate_budget=half", "mate_budget: 'half' is not a number"),
        ("mate_budget=0.5,mate_budget_share=0.5", "mate_budget_share: only a service can bound the share"),
        ("slots=1", "slots: '1' is neither true nor false"),
        ("backfill=lots", "backfill: 'lots' is not 'easy', 'conservative' or 'none'"),
        ("format=xls", "format: 'xls' is not 'swf', 'accounting', 'sacct' or 'csv'"),
        ("skip_bad=-1", "skip_bad: '-1' is below 0"),
        ("runs=first", "runs: 'first' is not 'last' or 'all'"),
        ("timezone=Mars", "timezone: 'Mars' is not a time zone that is known here"),
        ("columns=(a,a)", "columns: the column a occurs twice"),
        ("partition_limit=24h", "partition_limit: '24h' is not NAME=TIME, as batch=24h"),
        ("partition_limit=(a=1h,a=2h)", "partition_limit: the partition a occurs twice"),
        ("node_pool=torus", "node_pool: 'torus' is neither flat"),
        ("node_pool=partitioned:4x2,nodes=7", "nodes: partitioned:4x2 has 8 nodes, not 7"),
        ("polcy=fcfs", "polcy: no such key; did you mean policy?"),
        ("zzz=1", "zzz: no such key; there are name, trace, format"),
    ],
)
def test_a_bad_setting_names_flag_key_and_reason(setting, reason):
    assert refusal(f"a,trace=x,{setting}").startswith(f"--domain a:{reason}".replace("a::", "a:"))


def test_the_same_from_a_file_names_the_file_and_the_dotted_key(toml):
    path = toml('[[domain]]\nname = "a"\ntrace = "x"\n[[domain]]\nname = "b"\ntrace = "x"\npolicy = "nice"\n')
    assert refusal(config=path).startswith("r.toml:domain.b.policy: no policy 'nice'")


@pytest.mark.parametrize(
    ("domains", "reason"),
    [
        ([], "--domain: no domain: give --domain NAME,trace=FILE,... or a --config FILE"),
        (["a"], "--domain a:trace: missing"),
        (["a,trac=x.swf"], "--domain a:trac: no such key; did you mean trace?"),
        (["a b,trace=x"], "--domain a b:name: 'a b' is not a name: use 1 to 64 letters"),
        (["a,trace=x", "a,trace=y"], "--domain a: given twice"),
    ],
)
def test_domains_have_a_name_of_their_own_and_a_trace(domains, reason):
    assert refusal(*domains).startswith(reason)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pair_window": "2y"}, "--pair-window: '2y' is not a duration such as 90, 20m, 12h or 3d"),
        ({"pair_fraction": "2"}, "--pair-fraction: '2' is above 1"),
        ({"pair_fraction": "x"}, "--pair-fraction: 'x' is not a number"),
        ({"group_size": "3-2"}, "--group-size: a group has 2 to 16 jobs, not 3-2"),
        ({"group_size": "some"}, "--group-size: 'some' is not a number of jobs, as 3, or two, as 2-5"),
        ({"group_size": "2"}, "--group-size: needs pair_fraction, the share of the jobs that are in groups"),
        ({"seed": "-1"}, "--seed: '-1' is below 0"),
        ({"seed": "x"}, "--seed: 'x' is not a whole number"),
        ({"pairs": "p", "pair_window": "1m"}, "--domain: pairs, pair_window and pair_fraction exclude each other"),
        ({"pairs": "-"}, "--domain: standard input ('-') can be read only once"),
    ],
)
def test_a_bad_option(options, reason):
    assert refusal("a,trace=-", "b,trace=x", **options) == reason


def test_windows_and_fractions_are_for_two_domains():
    assert refusal("a,trace=x", pair_window="2m") == "--pair-window: pairs jobs of 2 to 16 domains, but there are 1"


A = "[[domain]]\nname = 'a'\n"
FILE = """
pair_window = "2m"
seed = 3
[[domain]]
name = "a"
trace = "traces/a.swf"
load = 0.5
scheme = "yield"
[[domain]]
name = "b"
trace = "/b.swf"
"""


def test_a_file(toml):
    found = settings(config=toml(FILE))
    assert (found.pair_window, found.seed) == (120, 3)
    assert [domain.name for domain in found.domains] == ["a", "b"]
    assert (found.domains[0].load, found.domains[0].scheme) == (Decimal("0.5"), SchemeChoice.YIELD)


def test_file_names_in_a_file_are_relative_to_it(toml, tmp_path, monkeypatch):
    toml(f'pairs = "p.csv"\nscript = "s"\n{FILE.replace("pair_window", "#")}')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = settings(config="../r.toml")
    assert (found.pairs, found.script) == ("../p.csv", "../s")
    assert [domain.trace for domain in found.domains] == ["../traces/a.swf", "/b.swf"]


def test_flags_win_key_by_key(toml):
    found = settings("b,nodes=5", "c,trace=c", "a,scheme=off", config=toml(FILE.replace("pair_window", "#")), seed="4")
    a, b, c = found.domains
    assert (found.seed, a.name, b.name, c.name) == (4, "a", "b", "c")
    assert (a.scheme, a.load, b.trace, b.nodes) == (SchemeChoice.OFF, Decimal("0.5"), "/b.swf", 5)


def test_a_flag_displaces_what_it_excludes(toml):
    found = settings("a,scale=2", config=toml(FILE), pair_fraction="0.1")
    assert (found.pair_window, found.pair_fraction) == (None, Decimal("0.1"))
    assert (found.domains[0].load, found.domains[0].scale) == (None, 2)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["a,backfill=x"], "--domain a:backfill: 'x' is not"),
        (["a,nodes=5"], "r.toml:domain.a.backfill: 'x' is not"),
        (["c,nodes=5", "a,backfill=none"], "--domain c:trace: missing"),
    ],
)
def test_a_mistake_is_said_of_where_it_was_made(toml, flags, reason):
    path = toml('[[domain]]\nname = "a"\ntrace = "x"\nbackfill = "x"\n')
    assert refusal(*flags, config=path).startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pairs = \n", "1: not valid TOML: Invalid value"),
        ("a = 1\na = 2\n", "2: not valid TOML: Cannot overwrite a value"),
        ("[[domain]\n", "1: not valid TOML: Expected ']]' at the end of an array declaration"),
        (f"pair_windo = 5\n{A}trace = 'x'\n", "pair_windo: no such key; did you mean pair_window?"),
        (f"{A}trace = 5\n", "domain.a.trace: 5 is not a text in quotes"),
        ("[[domain]]\ntrace = 'x'\n", "domain.1.name: missing"),
        (f"{A}trace = 'x'\nnodes = true\n", "domain.a.nodes: a number is expected, not true"),
        (f"{A}trace = 'x'\ncut = 5\n", "domain.a.cut: '5' is not a time window"),
        ("domain = 5\n", "domain: each domain is a table under a line [[domain]]"),
        ("[domain]\nname = 'a'\n", "domain: each domain is a table under a line [[domain]]"),
        ("domains = []\n", "domains: no such key; each domain is a table under a line [[domain]]"),
        ("seed = 1\n", " no domain"),
        (2 * f"{A}trace = 'x'\n", " domain 'a' occurs twice"),
    ],
)
def test_a_bad_file(toml, text, reason):
    assert refusal(config=toml(text)).startswith(f"r.toml:{reason}")


def test_a_file_that_cannot_be_read(toml, tmp_path):
    toml("")
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")
    assert refusal(config="none.toml") == "none.toml: cannot be read: No such file or directory"
    assert refusal(config=".") == ".: cannot be read: Is a directory"
    assert refusal(config="latin.toml") == "latin.toml: not a text file"
