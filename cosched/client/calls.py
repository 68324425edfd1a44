"""What both clients ask for: the requests, and the parsers of their answers. Bad arguments raise ValueError.

Most methods of the clients have the arguments and the words of the functions here: see `method_of`.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from cosched.client.domains import Domain, Nodes
from cosched.client.events import EVENT_KINDS
from cosched.client.explanations import Explanation
from cosched.client.jobs import JOB_STATES, Job
from cosched.client.machines import Machines, StartQuote
from cosched.client.places import FoundMate
from cosched.client.terms import Span, length, length_if, make_terms
from cosched.client.usage import USAGE_BY, Usage
from cosched.schedulers.column import LEAST_NODES
from cosched.v1 import domain_pb2 as wire
from cosched.v1 import explain_pb2, machines_pb2, rendezvous_pb2, usage_pb2
from cosched.v1.coscheduling_pb2 import JobRef, Window
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.explain_pb2_grpc import ExplainServiceStub
from cosched.v1.job_pb2 import GroupName, MateName, PairName
from cosched.v1.machines_pb2_grpc import MachinesServiceStub
from cosched.v1.rendezvous_pb2_grpc import RendezvousServiceStub
from cosched.v1.run_times_pb2_grpc import RunTimesServiceStub
from cosched.v1.usage_pb2_grpc import UsageServiceStub
from cosched.validation.group_names import check_members, domains_of, wrong_group_name
from cosched.validation.pair_names import ALLOWED, is_pair_name

WATCH = "WatchEvents"
EXPLAINED_AT_ONCE = 500  # jobs
UNNAMED_GROUP = "members, windows and an instant need the name of their group"
Windows = Mapping[str, tuple[Span, Span]]
NO_WINDOWS: Windows = MappingProxyType({})
Instant = float | datetime  # seconds since 1970
Words = Iterable[str]
JobLike = Job | str | int  # a job, "DOMAIN:ID", or an id in the called domain
Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """A method of one of the services of a domain, its request, and the parser of its answer."""

    method: str
    request: Any
    read: Callable[[Any], Answer]


def method_of(make: Callable[..., Call[Any]], ask: Method) -> Method:
    """Return `ask`, a method of a client, with the name, arguments and words of the function that it asks by."""
    of = inspect.signature(make)
    client = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    answer = str(of.return_annotation).removeprefix("Call[").removesuffix("]")
    signature = of.replace(parameters=[client, *of.parameters.values()], return_annotation=answer)
    ask.__name__, ask.__qualname__, ask.__doc__ = make.__name__, make.__name__, make.__doc__
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


def methods(channel: Any) -> dict[str, Any]:
    """Return the methods of all services of a domain on this channel, by name."""
    services = (
        DomainServiceStub, RendezvousServiceStub, ExplainServiceStub, UsageServiceStub, RunTimesServiceStub,
        MachinesServiceStub,
    )  # fmt: skip
    return {name: method for service in services for name, method in vars(service(channel)).items()}


def submit(
    script: str | bytes | Path,
    arguments: Sequence[str] = (),
    *,
    nodes: int = 1,
    least: int | None = None,
    columns: Mapping[str, str] | None = None,
    time_limit: float | timedelta | None = None,
    name: str = "",
    mate: JobLike | None = None,
    pair: str | None = None,
    pair_domain: str = "",
    group: str | None = None,
    members: Sequence[str] = (),
    windows: Windows = NO_WINDOWS,
    at: Instant | None = None,
    or_alone: bool = False,
    adoptable: bool = False,
    ends_with: Sequence[str] = (),
    fail_together: bool = False,
    if_requeued: str | None = None,
    together_for: float | timedelta | None = None,
    in_place_of: JobLike | None = None,
    hold: bool = False,
    environment: Mapping[str, str] | None = None,
    directory: str | Path | None = None,
) -> Call[Job]:
    """Submit a job: the script itself, or the Path of its file.

    `least`: the fewest nodes on which it can run, where a scheduler changes the sizes of running jobs; one of the
    `columns`, which are what the domain's scheduler reads of a job beyond size and time, by name, as text.
    `time_limit`: seconds or a timedelta. `mate`: "DOMAIN:ID"; or `pair`: a name that both jobs are submitted with
    (`pair_domain`: the mate's domain, needed only if there are several peers); or `group`: a name that one job on
    each of several domains is submitted with (`members`: the other domains, or "DOMAIN:ID" of a job there that names
    nobody, is adoptable, and joins; `windows`: by domain, when its job starts, from the first to the second, seconds or
    timedeltas after the jobs that have none; `at`: the instant at which those start, a datetime or seconds since 1970,
    at most 7 days ahead). A job that cannot be a mate is refused (ClientError, NO_PAIR), unless `or_alone` is set: the
    job then starts alone. `adoptable`: the job names nobody, and a job of the same owner on another domain that names
    it by its id may have it. `ends_with`: it ends when the members on these domains have ended. `fail_together`: it
    fails if a member fails, or is cancelled while it runs. `if_requeued`: "continue", "requeue" or "end" if a member is
    queued again while it runs; None: as its domain has it; `together_for`: it is queued again only so soon after its
    start. `in_place_of`: a job of the same owner that has not started; it is cancelled, and this one has its mate or
    group. `hold`: do not start before `release`. `directory`: the absolute path where the job runs. The domain chooses
    what is not given.
    """
    columns = dict(columns or {})
    if least is None and (text := columns.get(LEAST_NODES, "")).isdecimal():
        least = int(text)
    request = wire.SubmitJobRequest(
        request_id=request_id(),
        name=name,
        nodes=nodes,
        least_nodes=least or 0,  # of columns["least"], too: earlier services know no other
        columns=columns,
        script=_script(script),
        arguments=arguments,
        working_directory="" if directory is None else str(directory),
        environment=environment or {},
        hold=hold,
        or_alone=or_alone,
        adoptable=adoptable,
        terms=make_terms(ends_with, fail_together, if_requeued, together_for),
        in_place_of=None if in_place_of is None else job_ref(in_place_of),
        time_limit=length_if(time_limit),
    )
    if mate is not None or pair is not None:
        request.mates.append(mate_name(mate, pair, pair_domain))
    if group is not None:
        request.group.CopyFrom(group_name(group, members, windows, at))
    elif members or windows or at is not None:
        raise ValueError(UNNAMED_GROUP)
    return Call("SubmitJob", request, _job)


def cancel(job: JobLike, *, unless_started: bool = False, final: bool = False) -> Call[Job]:
    """Cancel a job. Its mates start without it, after a while. `unless_started`: ClientError (JOB_STATE) if it runs.

    `final`: no other job will be submitted in its place, so nobody waits for one.
    """
    ref = job_ref(job)
    request = wire.CancelJobRequest(request_id=request_id(), job=ref, unless_started=unless_started, final=final)
    return Call("CancelJob", request, _job)


def link(
    job: JobLike,
    mate: JobLike | None = None,
    *,
    pair: str | None = None,
    pair_domain: str = "",
    group: str | None = None,
    members: Sequence[str] = (),
    windows: Windows = NO_WINDOWS,
    at: Instant | None = None,
    or_alone: bool = False,
    ends_with: Sequence[str] = (),
    fail_together: bool = False,
    if_requeued: str | None = None,
    together_for: float | timedelta | None = None,
) -> Call[Job]:
    """Set the mate of a job that has not started, or its group; it replaces the job's present mate, if any.

    A job that has nodes keeps them, and asks for the others. `ends_with` and what follows: see submit.
    """
    terms = make_terms(ends_with, fail_together, if_requeued, together_for)
    request = wire.LinkJobsRequest(request_id=request_id(), job=job_ref(job), or_alone=or_alone, terms=terms)
    if group is None:
        if members or windows or at is not None:
            raise ValueError(UNNAMED_GROUP)
        request.mate.CopyFrom(mate_name(mate, pair, pair_domain))
    elif mate is not None or pair is not None:
        raise ValueError("a job has a mate, or is in a group: name one of them")
    else:
        request.group.CopyFrom(group_name(group, members, windows, at))
    return Call("LinkJobs", request, _job)


def unlink(job: JobLike, mate_domain: str = "") -> Call[Job]:
    """Dissolve a pair. A holding or ready job then starts alone at once."""
    request = wire.UnlinkJobsRequest(request_id=request_id(), job=job_ref(job), mate_domain=mate_domain)
    return Call("UnlinkJobs", request, _job)


def release(job: JobLike) -> Call[Job]:
    """End a job's hold now. A holding job may be selected again at once, and hold again."""
    return Call("ReleaseHold", wire.ReleaseHoldRequest(request_id=request_id(), job=job_ref(job)), _job)


def drain(expected: float | timedelta | None = None, *, settle: float | timedelta | None = None) -> Call[Domain]:
    """Prepare for maintenance: make no holds and no pairs until `resume`, even after a restart. For operators.

    `expected`: the likely length in whole seconds (default: an hour); peers wait that long. `settle`: how long jobs
    that hold now may go on (default: 30 s). Returns at once; `domain().drain.waits_for` lists jobs that still hold.
    """
    request = wire.DrainDomainRequest(request_id=request_id(), expected=length_if(expected), settle=length_if(settle))
    return Call("DrainDomain", request, _domain)


def resume() -> Call[Domain]:
    """End `drain`."""
    return Call("ResumeDomain", wire.ResumeDomainRequest(request_id=request_id()), _domain)


def job(job: JobLike) -> Call[Job]:
    """Return a job as it is now."""
    return Call("GetJob", wire.GetJobRequest(job=job_ref(job)), _job)


def jobs(states: Words | None, owner: str | None, paired_only: bool, group: str | None) -> Call[list[Job]]:
    """Ask for the first page; see Client.jobs."""
    chosen = enums(states or (), JOB_STATES, "JOB_STATE_")
    request = wire.ListJobsRequest(states=chosen, owner=owner or "", paired_only=paired_only, group=group or "")
    return Call("ListJobs", request, lambda answer: list(map(Job, answer.jobs)))


def nodes() -> Call[list[Nodes]]:
    """Ask for the first page; see Client.nodes."""
    return Call("ListNodes", wire.ListNodesRequest(), lambda answer: list(map(Nodes, answer.groups)))


def domain() -> Call[Domain]:
    """Return the domain itself, and its peers."""
    return Call("GetDomain", wire.GetDomainRequest(), _domain)


def explain(job: JobLike) -> Call[Explanation]:
    """Return when a job is expected to start, and its mates, and why they wait; mates' domains are asked."""
    request = explain_pb2.ExplainJobsRequest(jobs=[job_ref(job)])
    return Call("ExplainJobs", request, lambda answer: Explanation(answer.explanations[0]))


def explain_all(jobs: Sequence[JobLike]) -> Iterator[Call[list[Explanation]]]:
    """See Client.explain_all; each call is of at most EXPLAINED_AT_ONCE jobs."""
    for first in range(0, len(jobs), EXPLAINED_AT_ONCE):
        request = explain_pb2.ExplainJobsRequest(jobs=map(job_ref, jobs[first : first + EXPLAINED_AT_ONCE]))
        yield Call("ExplainJobs", request, lambda answer: list(map(Explanation, answer.explanations)))


def usage(by: str = "user", since: float | timedelta | None = None) -> Call[list[Usage]]:
    """Return what jobs have cost beyond their runs, by `user`, `account` or `pair`, the largest sum first.

    `since`: of so many last seconds, or a timedelta; whole hours are counted. None: of all that is kept.
    """
    [chosen] = enums([by], USAGE_BY, "USAGE_BY_")
    begin = None if since is None else datetime.now(UTC) - length(since)
    request = usage_pb2.ListUsageRequest(by=chosen, since=begin)
    return Call("ListUsage", request, lambda answer: list(map(Usage, answer.usages)))


def machines(*, lasting: bool = False) -> Call[Machines]:
    """Return what is known of the domain's machines now; `lasting`: what holds at any time."""
    return Call("ListMachines", machines_pb2.ListMachinesRequest(lasting=lasting), Machines)


def quote_start(
    nodes: int = 1, *, time_limit: Span | None = None, columns: Mapping[str, str] | None = None
) -> Call[StartQuote]:
    """Return when a job would start that were submitted now without a mate; nothing is promised."""
    request = machines_pb2.QuoteStartRequest(nodes=nodes, columns=columns or {}, time_limit=length_if(time_limit))
    return Call("QuoteStart", request, StartQuote)


def find_mates(job: JobLike, *, host: str | None = None, nodelist: str = "", port: int = 0) -> Call[list[FoundMate]]:
    """Return where the mates of a job of yours are, which runs; give `host` to say where it is itself.

    `host`, `port`: what the mates should speak to; `nodelist`: all its nodes. A mate that has not said where it is
    has no `host` yet.
    """
    place = None if host is None else rendezvous_pb2.Place(nodelist=nodelist, host=host, port=port)
    request = rendezvous_pb2.FindMatesRequest(job=job_ref(job), place=place)
    return Call("FindMates", request, lambda answer: list(map(FoundMate, answer.mates)))


def events(after: int | None, jobs: Iterable[JobLike], kinds: Words, until_now: bool) -> wire.WatchEventsRequest:
    """See Client.events."""
    chosen, refs = enums(kinds, EVENT_KINDS, "EVENT_KIND_"), map(job_ref, jobs)
    return wire.WatchEventsRequest(jobs=refs, kinds=chosen, after_sequence=after, until_now=until_now)


def job_ref(job: JobLike) -> JobRef:
    """Return a job's name in the protocol; without a domain if none is given."""
    domain, colon, job_id = str(job).partition(":")
    if not colon:
        domain, job_id = "", domain
    if not job_id or (colon and not domain):
        raise ValueError(f"{job!r} is not a job: ID or DOMAIN:ID expected")
    return JobRef(domain=domain, job_id=job_id)


def mate_name(mate: JobLike | None, pair: str | None, pair_domain: str) -> MateName:
    """Return a mate's name in the protocol: by its id, which needs its domain, or by the name of the pair."""
    if (mate is None) == (pair is None):
        raise ValueError("a mate is named by DOMAIN:ID or by the name of the pair, one of the two")
    if pair is not None:
        if not is_pair_name(pair):
            raise ValueError(f"{pair!r} cannot be the name of a pair: {ALLOWED}")
        return MateName(pair=PairName(domain=pair_domain, name=pair))
    if pair_domain:
        raise ValueError("the domain of a pair needs the name of the pair")
    ref = job_ref(mate)  # type: ignore[arg-type]  # not None, since pair is
    if not ref.domain:
        raise ValueError(f"{mate!r} is not a mate: DOMAIN:ID expected")
    return MateName(job=ref)


def group_name(
    name: str, members: Sequence[str], windows: Windows = NO_WINDOWS, at: Instant | None = None
) -> GroupName:
    """Return a group's name in the protocol; `members`, `windows`, `at`: as of Client.submit."""
    others = [members] if isinstance(members, str) else list(members)
    if why := wrong_group_name(name):
        raise ValueError(f"{name!r}: {why}")
    try:
        check_members(others)
    except ValueError as error:
        raise ValueError(f"group {name}: {error}") from None
    message = GroupName(name=name, domains=domains_of(others), jobs=[job_ref(job) for job in others if ":" in job])
    message.windows.extend(_window(name, *of) for of in sorted(windows.items()))
    if at is not None:
        seconds = at.timestamp() if isinstance(at, datetime) else at
        if seconds != int(seconds):
            raise ValueError(f"group {name}: its instant is not of whole seconds")
        message.at.seconds = int(seconds)
    return message


def _window(group: str, domain: str, window: tuple[Span, Span]) -> Window:
    first, last = map(length, window)
    if first.microseconds or last.microseconds:
        raise ValueError(f"group {group}: the window of {domain!r} is not of whole seconds")
    return Window(domain=domain, earliest=first, latest=last)


def _job(answer: Any) -> Job:
    return Job(answer.job)


def _domain(answer: Any) -> Domain:
    return Domain(answer.domain)


def request_id() -> str:
    """Return a new id: a repetition of the request with it changes nothing more."""
    return str(uuid.uuid4())


def _script(script: str | bytes | Path) -> bytes:
    if isinstance(script, Path):
        return script.read_bytes()
    if isinstance(script, bytes):
        return script
    if script and "\n" not in script and not script.startswith("#!"):
        raise ValueError(f"{script!r} is not a script; if it is the name of a file, give a Path")
    return script.encode()


def enums(words: Words, known: Mapping[int, str], prefix: str) -> list[str]:
    """Return values of an enumeration of the protocol, whose words are known; ValueError."""
    given = [words] if isinstance(words, str) else list(words)
    for word in given:
        if word not in known.values():
            raise ValueError(f"{word!r} is not one of {', '.join(known.values())}")
    return [prefix + word.upper() for word in given]
