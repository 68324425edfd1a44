"""Submission by the command of the batch system that schedules the domain's jobs, such as sbatch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.cli.client.columns import columns_given
from cosched.cli.client.windows import WHEN, windows_given
from cosched.cli.output.failures import FAILED, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.core.protocol import MateProblem
from cosched.words.errors import InputError
from cosched.words.wrong_mates import wrong_member

if TYPE_CHECKING:
    from cosched.client import Client, Domain, Job
    from cosched_adapters.batch_system import Accepted, BatchSystemFactory

NOT_TAKEN = "NOT_TAKEN"  # the reason of a ClientError: the batch system has refused a job
# Options that name mates, or that let others do so
LINKS = frozenset({"mate", "pair", "pair_domain", "group", "members", "adoptable"})


class NotTaken(Failure):
    """The batch system of a domain has refused a job; nothing is submitted."""

    def __init__(self, domain: str, message: str) -> None:
        super().__init__(printable(message), FAILED)
        self.domain = domain


def batch_system(domain: Domain) -> BatchSystemFactory | None:
    """Return the batch system whose command submits the domain's jobs; None if the domain takes them itself."""
    from cosched_adapters.loading import load_batch_system

    system = load_batch_system(domain.manager)
    return system if system is not None and system.submit is not None else None


@dataclass(frozen=True)
class BatchCommand:
    """Submits a script with the options that the user gave (`given`); InputError for what cannot be."""

    client: Client
    domain: Domain
    system: BatchSystemFactory
    path: str
    script: bytes
    given: Mapping[str, Any]
    arguments: Sequence[str] = ()

    def submit(self) -> Accepted:
        """Submit it, and show the batch system's remarks; NotTaken."""
        from cosched_adapters.manager import ManagerError

        try:
            return self._submit(self.checked(self.given))
        except ManagerError as error:
            raise NotTaken(self.domain.name, str(error)) from None

    def __call__(self, named: Mapping[str, Any]) -> Job:
        """Submit it as a member of a group, as `submit_together` wants it."""
        from cosched.client import ClientError
        from cosched_adapters.manager import ManagerError

        try:
            accepted = self._submit(self.as_member(named))
        except (ManagerError, InputError) as error:
            reason = NOT_TAKEN if isinstance(error, ManagerError) else "NOT_SUBMITTED"
            raise ClientError(reason, printable(str(error))) from None
        try:
            job = self.client.job(accepted.job_id)  # to ask makes the domain look at its queue
        except ClientError as error:
            raise self._lost(accepted.job_id, str(error)) from None
        if named["group"] not in (job.group and job.group.name, *(mate.pair for mate in job.mates)):
            raise self._lost(accepted.job_id, f"job {job.id} there is another one")
        return job

    def as_member(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a member of a group; InputError if the domain takes none."""
        own = {key: value for key, value in self.given.items() if key not in LINKS}
        return self.checked({**own, **named})

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options, `windows` by domain; a group of two without is a pair. InputError: what cannot be."""
        for name in columns_given(given):
            said = f"nothing reads this of jobs of {self.domain.name}, since {self.domain.manager} schedules them"
            raise InputError(f"--{name}", None, said)
        if given.get("best") is not None:
            said = f"{self.domain.manager}, which schedules jobs of {self.domain.name}, asks for no best size"
            raise InputError("--best", None, said)
        if given.get("nodelist") is not None and not self.system.names_nodes:
            said = f"{self.domain.manager}, which schedules jobs of {self.domain.name}, takes no names of nodes"
            raise InputError("--nodelist", None, said)
        options = {key: value for key, value in given.items() if key not in WHEN}
        if options.get("pair") and not options.get("pair_domain") and len(self.domain.peers) > 1:
            options["pair_domain"] = self.domain.default_peer
        if "group" not in options:
            return options
        if any(":" in member for member in options["members"]):
            said = f"beside {self.domain.manager} a group is named by the domains of its members, without ids"
            raise InputError("--with", None, said)
        own, at = self.domain.name, given.get("at")
        apart = isinstance(given.get("windows"), Mapping)
        windows = given["windows"] if apart else windows_given(given, own, options["members"])
        if (windows or at is not None) and not self.domain.slots:
            said = wrong_member(own, options["group"], MateProblem.NO_SLOTS)
            raise InputError("--group", None, said)
        if windows or at is not None:
            options |= {"windows": windows, "at": at}
        elif len(options["members"]) == 1:
            pair, (mate,) = options.pop("group"), options.pop("members")
            return {**options, "pair": pair, "pair_domain": mate}
        self._check_members(options["group"], options["members"])
        return options

    def _check_members(self, group: str, members: Sequence[str]) -> None:
        domain = self.domain
        if not self.system.can_group:
            said = f"{domain.name} takes no members of groups, since {domain.manager} schedules its jobs: pair them"
            raise InputError("--group", None, said)
        coupled = {peer.name: peer for peer in domain.peers}
        for member in members:
            if member not in coupled:
                said = f"{domain.name} is not coupled with {member!r} (only with {', '.join(coupled) or 'nobody'})"
                raise InputError("--with", None, said)
            if coupled[member].takes_groups is False:
                raise InputError("--with", None, wrong_member(member, group, MateProblem.NO_GROUPS))

    def _submit(self, options: Mapping[str, Any]) -> Accepted:
        from cosched.client.defaults import batch_config
        from cosched_adapters.batch_system import Submission

        assert self.system.submit is not None
        peers = [peer.name for peer in self.domain.peers]
        job = (self.path, self.script, self.arguments, options)
        read = self.client.server, batch_config(self.domain.name)
        accepted = self.system.submit(Submission(self.domain.name, peers, *job, *read))
        for line in accepted.remarks:
            say(printable(line))
        return accepted

    def _lost(self, job_id: str, why: str) -> Exception:
        """The batch system has taken a job that the domain does not know: the command has reached another cluster."""
        from cosched.client import ClientError

        said = f"the job was submitted as {job_id}, but not to the cluster of {self.domain.name} ({why}): cancel it"
        return ClientError("NOT_SUBMITTED", f"{said}, and set batch_config of {self.domain.name} in client.toml")
