"""`cosched doctor`: examines the set-up of one policy domain, whether its service runs or not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from cosched.doctor.certificates import check_certificates
from cosched.doctor.coscheduling import check_coscheduling
from cosched.doctor.manager import check_manager
from cosched.doctor.other_end import check_other_end
from cosched.doctor.peers import check_peers
from cosched.doctor.service import check_service, running_service
from cosched.doctor.tokens import check_tokens
from cosched.service.configuration import Configuration
from cosched_adapters.findings import Finding, guarded

Examination = Mapping[str, Sequence[Finding]]


def examine(configuration: Configuration, source: str, *, other_ends: bool = True) -> Examination:
    """Return the findings by group, in the order of display; `source`: the configuration's file.

    `other_ends`: also ask where the peers of logins by ssh are.

    Asks the resource manager, the peers and, if it runs, the domain's service; changes nothing. A check that fails is a
    finding; the others go on.
    """
    service = running_service(configuration.domain, source)
    kind = configuration.manager.kind
    found = {
        "service": list(guarded("service", check_service, configuration, service, source)),
        kind: list(guarded(kind, lambda: asyncio.run(check_manager(configuration, service)))),
        "coscheduling": list(guarded("coscheduling", check_coscheduling, configuration)),
        "certificates": list(guarded("certificates", check_certificates, configuration, service.account)),
        "tokens": list(guarded("tokens", check_tokens, configuration, service.account)),
        "peers": list(guarded("peers", lambda: asyncio.run(check_peers(configuration, service.domain)))),
    }
    logins = {peer.name: peer.ssh for peer in configuration.peers if peer.ssh and other_ends}
    return found | {f"{name}, by ssh": list(guarded(name, check_other_end, name, at)) for name, at in logins.items()}
