"""Checks submissions: what to run, and which mate or group is named. FieldError names a bad field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cosched.core.protocol import NO_TERMS, Named, Terms, named_group, named_mate
from cosched.schedulers.column import LEAST_NODES
from cosched.service.store import JobScript
from cosched.service.wire.fields import MAX_JOB_ID, FieldError, check_domain, check_job, check_text
from cosched.service.wire.group_messages import read_at, read_windows
from cosched.service.wire.terms import read_terms
from cosched.v1 import domain_pb2, job_pb2, machines_pb2
from cosched.validation.group_names import wrong_group_name, wrong_members
from cosched.validation.pair_names import ALLOWED, is_pair_name

MAX_NAME = 256
MAX_WORD = 32768  # characters of an argument, a variable, a path
MAX_WORDS = 4096  # arguments, variables
MAX_SCRIPT = 1 << 20
MAX_NODES = 10**9
MAX_COLUMNS = 32
MAX_TIME_LIMIT = 10 * 366 * 86400
DEFAULT_TIME_LIMIT = 3600
EXCLUSIVE = "excludes mates: a job has a mate, or is in a group that names all its members"


class TooManyMatesError(FieldError):
    """More than one mate is named, which is not supported yet."""

    reason = "TOO_MANY_MATES"


@dataclass(frozen=True, slots=True)
class Submission:
    """A checked submission."""

    name: str
    nodes: int
    time_limit: int
    script: JobScript
    named: Named | None
    hold: bool
    owner: str
    terms: Terms = NO_TERMS  # instead of those of the job in whose place it is
    in_place_of: str = ""  # the id of a job here, whose mate or group it gets
    adoptable: bool = False  # it names nobody, and a job of the same owner that names it may have it
    columns: Mapping[str, str] = field(default_factory=dict)  # what else it says, as its user wrote it


def read_submission(message: domain_pb2.SubmitJobRequest) -> Submission:
    """Check the submission in a message, and return it; FieldError."""
    return Submission(
        name=check_text("name", message.name, MAX_NAME, least=0) or "job",
        nodes=_nodes(message.nodes),
        columns=_columns(message.columns, message.least_nodes, message.nodes or 1),
        time_limit=_time_limit(message),
        script=_script(message),
        named=_named(message),
        terms=read_terms(message.terms) if message.HasField("in_place_of") else NO_TERMS,
        in_place_of=_in_place_of(message) if message.HasField("in_place_of") else "",
        adoptable=message.adoptable and _adoptable(message),
        hold=message.hold,
        owner=check_text("owner", message.owner, MAX_NAME, least=0),
    )


def read_prospect(message: machines_pb2.QuoteStartRequest) -> Submission:
    """Check what a job would be that is not submitted, and return it; FieldError."""
    nodes, seconds = _nodes(message.nodes), _time_limit(message)
    columns = _columns(message.columns, 0, nodes)
    return Submission("job", nodes, seconds, JobScript(b"", (), "/", {}), None, hold=False, owner="", columns=columns)


def read_mate(field: str, name: job_pb2.MateName, or_alone: bool) -> Named:
    """Check the name of a mate, and return it; FieldError. An empty `peer` means the only other domain."""
    kind = name.WhichOneof("name")
    if kind is None:
        raise FieldError(field, "is missing: a pair's name or a job")
    if kind == "job":
        peer, job = check_job(f"{field}.job", name.job)
        return named_mate(peer, None, job, or_alone)
    peer = check_domain(f"{field}.pair.domain", name.pair.domain) if name.pair.domain else ""
    if not is_pair_name(name.pair.name):
        raise FieldError(f"{field}.pair.name", f"the name of a pair is {ALLOWED}")
    return named_mate(peer, name.pair.name, None, or_alone)


def _nodes(nodes: int) -> int:
    if not 0 <= nodes <= MAX_NODES:
        raise FieldError("nodes", f"is not between 1 and {MAX_NODES}")
    return nodes or 1


def _columns(given: Mapping[str, str], least: int, nodes: int) -> Mapping[str, str]:
    """Return the columns; older clients have a field of its own for one of them."""
    columns = dict(given)
    if not 0 <= least <= nodes:
        raise FieldError("least_nodes", f"{least} is not between 1 and nodes, {nodes}")
    if least:
        columns.setdefault(LEAST_NODES, str(least))
    if len(columns) > MAX_COLUMNS:
        raise FieldError("columns", f"are {MAX_COLUMNS} at most, not {len(columns)}")
    for name, text in columns.items():
        check_text("columns", name, MAX_NAME)
        check_text(f"columns[{name}]", text, MAX_NAME)
    return columns


def _time_limit(message: domain_pb2.SubmitJobRequest | machines_pb2.QuoteStartRequest) -> int:
    if not message.HasField("time_limit"):
        return DEFAULT_TIME_LIMIT
    seconds = int(message.time_limit.seconds)
    if not 1 <= seconds <= MAX_TIME_LIMIT:
        raise FieldError("time_limit", f"is not between 1 and {MAX_TIME_LIMIT} seconds")
    return seconds


def _script(message: domain_pb2.SubmitJobRequest) -> JobScript:
    if not message.script:
        raise FieldError("script", "is empty")
    if len(message.script) > MAX_SCRIPT:
        raise FieldError("script", f"has more than {MAX_SCRIPT} bytes")
    if not message.script.startswith(b"#!"):
        raise FieldError("script", "does not begin with #! and an interpreter")
    directory, variables = message.working_directory or "/", [*message.environment, *message.environment.values()]
    _check_words(arguments=message.arguments, environment=variables, working_directory=[directory])
    for name in message.environment:
        if not name or "=" in name:
            raise FieldError("environment", "has a variable without a name, or with = in it")
    if not directory.startswith("/"):
        raise FieldError("working_directory", "is not absolute")
    return JobScript(message.script, tuple(message.arguments), directory, dict(message.environment))


def _check_words(**fields: Sequence[str]) -> None:
    for name, words in fields.items():
        if len(words) > (2 * MAX_WORDS if name == "environment" else MAX_WORDS):  # names and values
            raise FieldError(name, f"has more than {MAX_WORDS} entries")
        for word in words:
            if len(word) > MAX_WORD or "\0" in word:
                raise FieldError(name, f"has an entry of more than {MAX_WORD} characters, or with a zero character")


def read_link(message: domain_pb2.LinkJobsRequest) -> Named:
    """Check the mate or the group in a message, and return it; FieldError."""
    terms = read_terms(message.terms)
    if not message.HasField("group"):
        return read_mate("mate", message.mate, message.or_alone)._replace(terms=terms)
    if message.HasField("mate"):
        raise FieldError("group", EXCLUSIVE)
    return _group(message.group, message.or_alone)._replace(terms=terms)


def _named(message: domain_pb2.SubmitJobRequest) -> Named | None:
    if message.HasField("group") and message.mates:
        raise FieldError("group", EXCLUSIVE)
    if len(message.mates) > 1:
        raise TooManyMatesError("mates", "more than one mate is not supported yet")
    if message.HasField("group"):
        named = _group(message.group, message.or_alone)
    elif message.mates:
        named = read_mate("mates[0]", message.mates[0], message.or_alone)
    elif message.or_alone:
        raise FieldError("or_alone", "has no effect without a mate or a group")
    elif message.HasField("terms") and not message.HasField("in_place_of"):
        raise FieldError("terms", "has no effect without a mate or a group")
    else:
        return None
    return named._replace(terms=read_terms(message.terms)) if message.HasField("terms") else named


def _adoptable(message: domain_pb2.SubmitJobRequest) -> bool:
    if message.mates or message.HasField("group"):
        raise FieldError("adoptable", "is for a job that names nobody: leave it out, or the mate or the group")
    return True


def _in_place_of(message: domain_pb2.SubmitJobRequest) -> str:
    if message.mates or message.HasField("group") or message.adoptable:
        raise FieldError("in_place_of", "gives the job the mates of the other one: name no others")
    return check_text("in_place_of.job_id", message.in_place_of.job_id, MAX_JOB_ID)


def _group(group: job_pb2.GroupName, or_alone: bool) -> Named:
    """Return the group; one of two domains is a pair."""
    if why := wrong_group_name(group.name):
        raise FieldError("group.name", why)
    others = tuple(group.domains)
    if (wrong := wrong_members(others)) is not None:
        place, why = wrong
        raise FieldError(f"group.domains[{place}]", why)
    own = [window.domain for window in group.windows if window.domain not in others][:1] or [""]
    windows = read_windows("group.windows", group.windows, (*others, *own))
    at = read_at("group.at", group)
    ids = _ids(group, others)
    if len(others) > 1 or windows or at is not None:
        return named_group(group.name, tuple(sorted(others)), or_alone, windows, at, ids)
    if ids:
        raise FieldError("group.jobs", "two jobs are a pair: name its other job by its id alone, without a group")
    return named_mate(others[0], group.name, None, or_alone)


def _ids(group: job_pb2.GroupName, others: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the members that are named by their ids, in the order of domains."""
    named = [check_job("group.jobs", job) for job in group.jobs]
    for domain, _ in named:
        if domain not in others:
            raise FieldError("group.jobs", f"{domain!r} is not among the domains of the other members")
    if len(dict(named)) < len(named):
        raise FieldError("group.jobs", "names two jobs of one domain")
    return tuple(sorted(named))
