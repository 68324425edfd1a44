"""Compiles every kernel once, before tests in several processes, and the services that they start, want them."""

from cosched.cli.compile import compile_all
from cosched_sim.warm_up import case
from tests.core.meeting.fast import meet_once
from tests.sim.federated import played

if __name__ == "__main__":
    compile_all(standalone_mode=False)
    played(*case(), cores={"a"})  # phase by phase, beside another player
    meet_once()
