"""The settings of the Python interface, and the jobs that it returns."""

import pickle

import pytest

import cosched_sim as sim
from cosched.words.errors import InputError
from tests.cli.conftest import hourly, swf


@pytest.fixture
def trace(tmp_path):
    """A log of three jobs, two of which wait."""
    path = tmp_path / "a.swf"
    path.write_text(swf(*hourly(3, run=5000)))
    return path


def domain(**settings):
    return sim.Domain(name="a", trace="a.swf", **settings)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sim.Domain(name="a", trac="x"), "Domain:trac: no such key; did you mean trace?"),
        (lambda: domain(scheme="hol"), "Domain:scheme: 'hol' is not 'hold', 'yield', 'off' or 'meet'"),
        (lambda: domain(node_pool="flt"), "Domain:node_pool: "),
        (
            lambda: sim.ReplayConfig(domains=(domain(),), pair_windw="2m"),
            "ReplayConfig:pair_windw: no such key; did you mean pair_window?",
        ),
        (lambda: sim.ReplayConfig(domains=({"name": "a", "trac": "x"},)), "ReplayConfig:domain.a.trac: no such key"),
        (lambda: sim.replay([domain()], pair_windw="2m"), "replay:pair_windw: no such key; did you mean pair_window?"),
        (lambda: sim.replay([3]), "replay:domain.1: 3 is not a table"),
    ],
)
def test_a_mistake_is_one_line(make, said):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_settings_are_copied_and_pickled_as_others():
    made = domain(scheme="yield")
    assert pickle.loads(pickle.dumps(made)) == made
    assert made.model_copy(update={"policy": "fcfs"}).policy == "fcfs"


def test_the_jobs_say_how_long_they_have_waited(trace):
    jobs = sim.replay([sim.Domain(name="a", trace=trace)]).jobs
    assert jobs["wait_s"].to_list() == [0, 1400, 2800]
    assert (jobs["start"] - jobs["submit"]).to_list() == jobs["wait_s"].to_list()


def test_the_jobs_become_a_data_frame_of_pandas(trace):
    pandas = pytest.importorskip("pandas", reason="pip install 'coscheduling[pandas]'")
    frame = sim.replay([sim.Domain(name="a", trace=trace)]).jobs.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["wait_s"].mean() == 1400
