"""The scheduler that gives nodes by name, as a kind of domains."""

from dataclasses import replace

from cosched_sim.domain_setup import DomainSetup
from tests.conformance.schedulers.kinds import example
from tests.core.named import Named


class NamedKind(type(example.EXPRESS)):
    """As the example, without preemption."""

    name = "named"
    capabilities = Named.capabilities

    def open(self, settings: object) -> Named:
        return Named(settings.nodes)


def named(of: DomainSetup) -> DomainSetup:
    return replace(of, cluster=example.ExpressSettings(of.cluster.nodes, 0), kind=NamedKind())
