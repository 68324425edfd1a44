"""What a user names as a job's mate or group: whether this domain knows it, can have it, and has it free."""

from __future__ import annotations

import grpc

from cosched.core.protocol import NO_TERMS, JobId, MateProblem, Named, named_mate
from cosched.core.settings import OnMemberRequeued
from cosched.service.domain.live_domain import LiveDomain
from cosched.service.peers.announcing import Announcer
from cosched.service.peers.linking import Coupled
from cosched.service.wire.errors import Refusal
from cosched.service.wire.fields import FieldError
from cosched.validation.group_windows import wrong_instant
from cosched.validation.near_names import did_you_mean
from cosched.words.wrong_mates import wrong_member


class NamedMates:
    """The checks of one domain. They raise Refusal."""

    def __init__(self, domain: LiveDomain, announcer: Announcer, coupled: Coupled) -> None:
        self._domain, self._announcer, self._coupled = domain, announcer, coupled

    def as_before(self, named: Named, mate: Named) -> Named:
        """Return the mate, without a domain's name on that of the `mate` before, if that is known."""
        kept = named.is_pair and not named.peer and mate.peer in self._coupled.peers
        return named._replace(others=(mate.peer,)) if kept else named

    async def checked(self, named: Named) -> Named:
        """Return the mate, with its domain filled in, or the group, whose domains are known and can start groups."""
        if named.is_pair:
            return self.mate(named) if named.terms == NO_TERMS else self._with_terms(self.mate(named))
        self._with_terms(named)
        for peer in named.others:
            self.mate(named_mate(peer))
        self._check_slots(named)
        lacking = [] if self._domain.scheduler.capabilities.groups else [self._domain.name]
        lacking += await self._announcer.peers.without_groups(named.others)
        if lacking:
            said = wrong_member(lacking[0], named.name, MateProblem.NO_GROUPS)
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_GROUPS", said, {"domain": lacking[0]})
        return named

    def _with_terms(self, named: Named) -> Named:
        """Return what is named, whose terms are such as it can have."""
        terms, settings = named.terms, self._domain.core.settings
        for domain in terms.ends_with:
            if domain not in named.others:
                others = ", ".join(named.others)
                said = f"{domain} is not among the domains with which the job starts: {others}"
                raise FieldError("terms.ends_with", said + did_you_mean(domain, named.others))
        if_requeued = terms.if_requeued or settings.on_member_requeued
        if terms.together_for is not None and if_requeued is not OnMemberRequeued.REQUEUE:
            does = "runs on" if if_requeued is OnMemberRequeued.CONTINUE else "is ended"
            said = f"counts only if the job is queued again with others, but it {does}: give --if-requeued=requeue, too"
            raise FieldError("terms.together_for", said)
        return named

    def _check_slots(self, named: Named) -> None:
        """Check what only groups with slots have: windows, and a given instant."""
        own = self._domain.name
        now = self._domain.clock.to_wall(self._domain.clock.now())
        if named.at is not None and (why := wrong_instant(named.at, now)) is not None:
            raise FieldError("group.at", why)
        for window in named.windows:
            if window.domain not in (own, *named.others):
                raise FieldError("group.windows", f"{window.domain!r} is not a domain of the group")
        if (named.windows or named.at is not None) and not self._domain.core.settings.slots:
            said = wrong_member(own, named.name, MateProblem.NO_SLOTS)
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "NO_SLOTS", said, {"domain": own})

    def check_free(self, owner: str, named: Named | None, job: JobId | None = None) -> None:
        """Raise Refusal if a job here other than `job` has this mate, or is in this group."""
        if named is None:
            return
        if not self._domain.core.ledger.enabled:
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "COSCHEDULING_OFF", "coscheduling is off here")
        taken = self._domain.core.names.taken(named, owner)
        if taken in (None, job):
            return
        if not named.is_pair:
            said = f"group {named.name}: job {taken} is its member here already; cancel it, or choose another name"
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "GROUP_TAKEN", said, {"job_id": str(taken)})
        what = f"pair {named.pair} is that" if named.pair is not None else f"{named} is the mate"
        said = f"{what} of job {taken} already"
        raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "PAIR_TAKEN", said, {"job_id": str(taken)})

    def mate(self, mate: Named) -> Named:
        """Return the mate with its domain filled in; Refusal if this domain does not talk to that one."""
        peer = self._coupled.meant(*mate.others)
        if peer not in self._coupled.peers:
            known = ", ".join(self._coupled.peers) or "none"
            said = f"no domain {mate.peer}{did_you_mean(mate.peer, self._coupled.peers)}"
            if not mate.peer:
                said = "the mate's domain must be named, by --pair-domain"
            if peer == self._domain.name:
                said = f"{peer} is this domain: a mate is a job of another one"
            raise Refusal(grpc.StatusCode.NOT_FOUND, "DOMAIN_NOT_FOUND", f"{said} (configured: {known})")
        return mate._replace(others=(peer,))
