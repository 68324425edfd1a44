"""Which cases a grid has, and what a sweep file may say."""

import itertools
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.words.errors import InputError
from cosched_sim.commands.sweep import read_sweep
from cosched_sim.sweeps.grid import Sweep
from tests.sim.sweeps.small import pair

Write = Callable[..., str]

GRIDS = st.fixed_dictionaries(
    {},
    optional={
        "schemes": st.lists(st.sampled_from(["none", "HH", "HY", "YH", "YY"]), min_size=1, unique=True),
        "eureka.load": st.lists(st.floats(0.1, 2), min_size=1, max_size=3, unique=True),
        "release_interval": st.lists(st.integers(0, 9000), min_size=1, max_size=3, unique=True),
        "pair_window": st.lists(st.sampled_from(["1m", "2m"]), min_size=1, unique=True),
    },
)


@given(GRIDS, st.integers(1, 3), st.integers(0, 2**40))
def test_the_cases_are_the_product_of_the_lists_in_each_replication(grid, replications, seed):
    cases = list(Sweep(pair(), grid, replications, seed))
    expected = itertools.product(range(1, replications + 1), *grid.values())
    assert [case.labels for case in cases] == [
        {**dict(zip(grid, values, strict=True)), "replication": number} for number, *values in expected
    ]
    assert [case.settings["seed"] for case in cases] == [seed + case.labels["replication"] - 1 for case in cases]
    assert len(cases) == len(Sweep(pair(), grid, replications, seed))
    assert len({case.key for case in cases}) == len(cases)


def test_where_the_values_go():
    grid = {"schemes": ["HY"], "eureka.load": [0.5], "release_interval": ["5m"], "pair_window": ["1m"]}
    (case,) = Sweep(pair(), grid, 1, 3)
    assert case.settings == {
        "domains": [
            {"name": "intrepid", "trace": "generated:intrepid/jobs=20", "scheme": "hold", "release_interval": "5m"},
            {
                "name": "eureka", "trace": "generated:eureka/jobs=20", "scheme": "yield", "release_interval": "5m",
                "load": 0.5,
            },
        ],
        "pair_window": "1m",
        "seed": 3,
    }  # fmt: skip


def test_a_case_does_not_depend_on_what_else_is_in_the_grid():
    small = Sweep(pair(), {"eureka.load": [0.5]}, 1, 7)
    large = Sweep(pair(), {"eureka.load": [0.25, 0.5]}, 3, 5)
    assert {case.key for case in small} < {case.key for case in large}


def test_a_domain_name_may_have_dots():
    (case,) = Sweep({"domains": [{"name": "a.b", "trace": "generated:eureka"}]}, {"a.b.load": [0.5]}, 1, 1)
    assert case.settings["domains"][0]["load"] == 0.5


def test_a_file(sweep_file: Write):
    sweep = read_sweep(sweep_file())
    assert (len(sweep), sweep.replications, sweep.seed) == (18, 3, 5)
    assert sweep.base == pair()
    assert dict(sweep.grid) == {"schemes": ["none", "HH", "YH"], "eureka.load": [0.25, 0.5]}
    flags = read_sweep(sweep_file(), replications=4, seed=9)
    assert (flags.replications, flags.seed) == (4, 9)
    defaults = read_sweep(sweep_file(("replications = 3", ""), ("seed = 5", "")))
    assert (defaults.replications, defaults.seed) == (1, 1)


def test_file_names_are_relative_to_the_file(sweep_file: Write, tmp_path, monkeypatch):
    trace = ('"generated:intrepid/jobs=20"', '"a.swf"')
    sweep_file(trace, ('"eureka.load" = [0.25, 0.5]', '"eureka.trace" = ["b.swf"]'))
    for name in ("a.swf", "b.swf"):
        (tmp_path / name).write_text("; no jobs\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    case = next(iter(read_sweep("../s.toml")))
    assert [domain["trace"] for domain in case.settings["domains"]] == ["../a.swf", "../b.swf"]
    assert case.labels["eureka.trace"] == "b.swf"


NO_LIST = "a list of values is expected, such as [0.25, 0.5]"
NO_FILE = "no.swf: cannot be read: No such file or directory"
NO_SCHEMES = "is neither 'none' nor 2 letters, H, Y or M for each domain"
LOADS, SCHEMES = '"eureka.load" = [0.25, 0.5]', '["none", "HH", "YH"]'
MISTAKES = [
    ((LOADS, '"eureka.load" = [0.25, -1]'), 's.toml:grid."eureka.load": -1 is not above 0'),
    ((LOADS, '"eureka.load" = [-1, 0.25]'), 's.toml:grid."eureka.load": -1 is not above 0'),
    ((LOADS, '"eureka.load" = 0.5'), f's.toml:grid."eureka.load": {NO_LIST}'),
    ((LOADS, '"eureka.load" = []'), f's.toml:grid."eureka.load": {NO_LIST}'),
    ((LOADS, '"eureka.load" = [0.5, 0.25, 0.5]'), 's.toml:grid."eureka.load": 0.5 occurs twice'),
    ((LOADS, '"eureka.load" = [[0.5]]'), 's.toml:grid."eureka.load": text and numbers are values, not [0.5]'),
    ((LOADS, '"eureka.lod" = [1]'), 's.toml:grid."eureka.lod": no such key; did you mean load?'),
    ((LOADS, '"mira.load" = [1]'), 's.toml:grid."mira.load": no domain is called mira; there are intrepid, eureka'),
    ((LOADS, "pair_windw = [1]"), "s.toml:grid.pair_windw: no such key; did you mean pair_window?"),
    ((LOADS, "seed = [1]"), "s.toml:grid.seed: cannot be in a grid; replications have their own seeds"),
    ((LOADS, 'scheme = ["hold"]'), "s.toml:grid.scheme: sets what grid.schemes sets, too"),
    ((LOADS, 'release_interval = ["5x"]'), "'5x' is not a duration such as 90, 20m, 12h or 3d"),
    ((LOADS, "pair_fraction = [0.5]"), "pairs, pair_window and pair_fraction exclude each other"),
    ((LOADS, '"eureka.trace" = ["generated:eureka", "no.swf"]'), f's.toml:grid."eureka.trace": {NO_FILE}'),
    ((LOADS, '"eureka.trace" = ["no.swf"]'), f's.toml:grid."eureka.trace": {NO_FILE}'),
    ((LOADS, '"eureka.trace" = ["-"]'), "standard input: can be read only once, but each case reads its files"),
    ((SCHEMES, '["none", "HHY"]'), f"s.toml:grid.schemes: 'HHY' {NO_SCHEMES}"),
    ((LOADS, "mate_budget = [0.5, 11]"), "s.toml:grid.mate_budget: 11 is not between 0 and 10; 0.5 is usual"),
    ((SCHEMES, '["HX"]'), f"s.toml:grid.schemes: 'HX' {NO_SCHEMES}"),
    (("[grid]", "[gird]"), "s.toml:grid: a table of lists, such as schemes = ['none', 'HH'], is missing"),
    (("replications = 3", "replications = 0"), "s.toml:replications: 0 is not a whole number from 1 on"),
    (("replications = 3", "replications = true"), "s.toml:replications: True is not a whole number from 1 on"),
    (("seed = 5", 'seed = "x"'), "s.toml:seed: 'x' is not a whole number from 0 on"),
    (("pair_window", "pair_wndow"), "s.toml:pair_wndow: no such key; did you mean pair_window?"),
    (('trace = "generated:eureka/jobs=20"', ""), "s.toml:domain.eureka.trace: missing"),
    (('trace = "generated:eureka/jobs=20"', 'trace = "no.swf"'), "s.toml:domain.eureka.trace: no.swf: cannot be read"),
    (("seed = 5", "seed = ="), "s.toml:4: "),
]  # fmt: skip


@pytest.mark.parametrize(("replaced", "expected"), MISTAKES)
def test_a_mistake_is_one_line_before_anything_runs(cosched, sweep_file: Write, tmp_path, replaced, expected):
    result = cosched("sweep", sweep_file(replaced), "--out", "out", exit_code=2)
    assert result.stdout == ""
    assert expected in result.stderr
    assert result.stderr.startswith("cosched: s.toml")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_sweep_without_domains(cosched, tmp_path):
    (tmp_path / "s.toml").write_text("[grid]\nschemes = ['none']\n")
    assert "s.toml:domain: missing" in cosched("sweep", "s.toml", exit_code=2).stderr


def test_a_missing_file():
    with pytest.raises(InputError, match=r"no.toml: cannot be read: No such file or directory"):
        read_sweep("no.toml")


def test_values_stay_as_they_were_written(sweep_file: Write):
    sweep = read_sweep(sweep_file((LOADS, 'release_interval = [300, "20m"]')))
    assert json.dumps(dict(sweep.grid)) == '{"schemes": ["none", "HH", "YH"], "release_interval": [300, "20m"]}'
