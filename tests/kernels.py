"""Compiles every kernel once, before tests in several processes, and the services that they start, want them."""

from cosched import sim  # noqa: F401  (sets the kernels' cache folder)
from cosched.core.scheduling.fluid.warming import use_kernels, use_kernels_of_slots
from cosched.service.kernels import load_kernels
from cosched.sim.fluid import run_kernels as run_fluid_kernels
from cosched.sim.warm_up import case, run_all_kernels, run_meeting_kernels
from tests.core.meeting.fast import meet_once
from tests.sim.federated import played

if __name__ == "__main__":
    run_all_kernels()
    run_meeting_kernels()
    run_fluid_kernels()
    use_kernels()
    use_kernels_of_slots()
    played(*case(), cores={"a"})  # phase by phase, beside another player
    load_kernels()
    load_kernels(meets=True)
    meet_once()
