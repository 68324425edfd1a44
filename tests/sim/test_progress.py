"""How far a replay has come."""

import re

import pytest

from cosched_sim import Domain, ReplayConfig
from cosched_sim.progress import time_left
from cosched_sim.replaying import Replay


def test_a_replay_tells_share_day_and_time_left():
    said = []
    domains = tuple(Domain(name=n, trace=f"generated:{n}/jobs=200/days=4") for n in ("intrepid", "eureka"))
    Replay(ReplayConfig(domains=domains, pair_window=600), doing=said.append).run()
    percents = [int(text.partition(" %")[0]) for text in said]
    assert percents == sorted(set(percents))
    assert (percents[0], percents[-1]) == (0, 100)
    assert len(percents) > 50
    assert said[0].startswith("0 %, day 1 of ")
    assert re.fullmatch(r"\d+ %, day \d of \d, \d+ s left", said[20])


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (99.9, "100 s"), (720, "12 min"), (12_600, "3.5 h")])
def test_time_left(seconds, text):
    assert time_left(seconds) == text
