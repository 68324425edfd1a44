"""Kernels are compiled before they are needed, and only where they are."""

from dataclasses import replace

import pytest

from cosched.installation.compilation import kernels_are_compiled
from cosched.schedulers.kernels import all_sets
from cosched_sim import warm_up
from cosched_sim.warm_up import SETS, case, prepare_for, run_meeting_kernels


@pytest.fixture
def prepared(monkeypatch):
    calls = []
    monkeypatch.setattr(warm_up, "prepare_kernels", lambda *call: calls.append(call) or 1.0)
    return calls


def test_only_domains_that_meet_need_the_kernels_of_those(prepared):
    domains, _ = case()
    assert prepare_for(domains, print) == 0.0
    assert not prepared
    settings = ("cluster", "coscheduling")
    domains[1] = replace(domains[1], **{of: replace(getattr(domains[1], of), slots=True) for of in settings})
    assert prepare_for(domains, print) == 1.0
    assert [call[0] for call in prepared] == [run_meeting_kernels]


def test_a_command_compiles_all_that_services_and_simulations_need(cosched):
    assert cosched("compile").stdout == "the schedulers are compiled\n"
    assert all(map(kernels_are_compiled, [*all_sets().values(), *SETS.values()]))
