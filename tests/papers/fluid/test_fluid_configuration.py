"""A fluid domain's configuration: its keys, and what does not go together, each in one line (fluid.md, Live)."""

import numpy as np
import pytest

from cosched.core.allocation import Malleable
from cosched.service.configuration import Configuration
from cosched.service.preparing import prepare
from cosched.words.errors import InputError
from cosched_papers.fluid.kind import FLUID as FLUID_KIND
from cosched_papers.fluid.kind import FluidKeys
from cosched_papers.fluid.settings import Distribution, FluidSettings, Harvesting
from cosched_sim.configuration import Domain
from cosched_sim.flags import parse_domain
from tests.service.configured import PLAIN, Read, read, with_line

__all__ = ["read"]
FLUID = PLAIN.replace('kind = "local"', 'kind = "local"\nslots = 8\nscheduler = "fluid"')


def test_a_fluid_domain_has_the_rules_of_a_replay(read: Read):
    made: Configuration = read(
        FLUID + 'harvesting = "low_impact"\nlevel = 3\nmodel = "parabolic"\nresize_cost = "2s"\n'
    )
    settings = made.machine_settings(8)
    assert (settings.nodes, settings.level, settings.harvesting.name) == (8, 3, "LOW_IMPACT")
    said = FLUID_KIND.submitted(made.manager, {"least": "2"})
    assert said == {"model": "parabolic", "resize_s": "2", "least": "2"}
    assert FLUID_KIND.read(said) == Malleable(2, parabolic=True, fixed=2)
    assert FLUID_KIND.submitted(made.manager, {}) == {}
    with pytest.raises(ValueError, match="model: give least, too: else the job keeps its size"):
        FLUID_KIND.submitted(made.manager, {"model": "linear"})
    assert prepare(made).manager.nodes == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FLUID + 'policy = "fcfs"\n', "manager.policy: a fluid scheduler has none: remove it, or give scheduler=batch"),
        (FLUID.replace("[manager]", "[coscheduling]\nyield_boost = 1\n[manager]"),
         "coscheduling.yield_boost: a fluid scheduler has none: remove it, or give scheduler=batch"),
        (PLAIN + "level = 3\n", "manager.level: only a fluid scheduler has it: "),
        (PLAIN + "resize_patience = 9\n", "manager.resize_patience: only a fluid scheduler has it: "),
        (FLUID + "min_share = 0.5\n", "manager.min_share: jobs say by themselves what is their least"),
        (FLUID + "resize_patience = 0\n", "manager.resize_patience: "),
        (FLUID + 'on_resize_ignored = "kill"\n', "manager.on_resize_ignored: "),
        (with_line(FLUID, "[manager]", "").replace("[manager]", "[coscheduling]\nmate_budget = 0.5\n[manager]"),
         "coscheduling.mate_budget: a fluid scheduler has none: remove it, or give scheduler=batch"),
        (PLAIN.replace('"local"', '"slurm"\nscheduler = "fluid"'),
         "manager.scheduler: has no effect: slurm schedules by itself"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_in_one_line(read: Read, text: str, said: str):
    with pytest.raises(InputError) as refused:
        read(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_key_in_a_replay():
    said = (
        "a,trace=x,nodes=8,scheduler=fluid,harvesting=low_impact,distribution=favor_queued,level=3,resizes=on,"
        "max_harvests=2,protect_age=5m,benefit=on,min_share=0.1,model=parabolic,resize_cost=7"
    )
    domain = Domain(**parse_domain(said))
    assert FluidKeys.model_fields.keys() <= domain.model_fields_set
    rules = FluidSettings(8, Harvesting.LOW_IMPACT, Distribution.FAVOR_QUEUED, 3, True, 2, 300, True, cap=4)
    assert domain.machine_settings(8) == rules
    assert FLUID_KIND.complete(domain, {}, np.array([30]))["min"].tolist() == [3]
