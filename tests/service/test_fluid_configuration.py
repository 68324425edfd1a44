"""A fluid domain's configuration: its keys, and what does not go together, each in one line (fluid.md, Live)."""

import pytest

from cosched.core.allocation import Malleable
from cosched.service.configuration import Configuration
from cosched.service.preparing import prepare
from cosched.words.errors import InputError
from cosched_papers.fluid.kind import FLUID as FLUID_KIND
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
        (
            FLUID.replace("[manager]", "[coscheduling]\nyield_boost = 1\n[manager]"),
            "coscheduling.yield_boost: a fluid scheduler has none: remove it, or give scheduler=batch",
        ),
        (PLAIN + "level = 3\n", "manager.level: only a fluid scheduler has it: "),
        (
            PLAIN + "resize_patience = 9\n",
            "manager.resize_patience: only a fluid scheduler has it: ",
        ),
        (
            FLUID + "min_share = 0.5\n",
            "manager.min_share: jobs say by themselves what is their least",
        ),
        (FLUID + "resize_patience = 0\n", "manager.resize_patience: "),
        (FLUID + 'on_resize_ignored = "kill"\n', "manager.on_resize_ignored: "),
        (
            with_line(FLUID, "[manager]", "").replace("[manager]", "[coscheduling]\nmate_budget = 0.5\n[manager]"),
            "coscheduling.mate_budget: a fluid scheduler has none: remove it, or give scheduler=batch",
        ),
        (
            PLAIN.replace('"local"', '"slurm"\nscheduler = "fluid"'),
            "manager.scheduler: has no effect: slurm schedules by itself",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(read: Read, text: str, said: str):
    with pytest.raises(InputError) as refused:
        read(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
