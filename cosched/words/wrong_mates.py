"""Why a job cannot have the mate it names, in one line for refusals, stories and listings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cosched.core.protocol import MateProblem

ANY_OF = "|"  # between the domains that a job may mean, if it names none; no name contains it
WAY_OUT = "name another mate, or say --or-alone to let the job start alone"

# A domain does not tell which of these it is
_UNKNOWN = (
    "{domain} has no job {job} that this one may name: it must wait, be this user's, and be submitted with --adoptable "
    "(or adopt = true under [[peer]] there); else give both a pair's name, there by cosched link {job} --pair NAME"
)
_NOBODY = "this user is nobody on {domain}: there, owners of [[peer]] says who users of this domain are"
_ENDED = (MateProblem.COMPLETED, MateProblem.FAILED, MateProblem.CANCELLED)
_TEXTS: Mapping[str, str] = {
    MateProblem.UNKNOWN: _UNKNOWN,
    MateProblem.NOT_WAITING: _UNKNOWN,
    MateProblem.RUNNING: "{mate} runs already",
    **{how: f"{{mate}} has ended ({how})" for how in _ENDED},
    MateProblem.OTHER_OWNER: "{mate} is another user's",
    MateProblem.TAKEN: "{mate} is another job's mate already",
    MateProblem.NAMES_PAIR: "{mate} waits for the job of a pair's name: give that name as --pair",
    MateProblem.UNLINKED: "{mate} was unlinked from this job",
    MateProblem.OFF: "coscheduling is off at {domain}",
    MateProblem.OTHER_DOMAINS: "the job of that name on {domain} names other domains, as its group",
    MateProblem.NO_GROUPS: "{domain} takes no members of groups",
    MateProblem.CIRCLE: "{mate} ends with this job, which would end with that one: leave out one --ends-with",
    MateProblem.ARRAY: (
        "{mate} and this job are not arrays of the same tasks: arrays (of Slurm) pair task by task, and one "
        "job with one job"
    ),
    MateProblem.HETEROGENEOUS: (
        "{mate} is a heterogeneous job whose components name different mates: name this job in its first one's comment"
    ),
}
_NOT_SAID = "{domain} knows no such pair: {mate} is not there, has ended, or is another job's mate or another user's"

_OF_GROUPS: Mapping[str, str] = {
    MateProblem.OTHER_DOMAINS: "the job on {domain} names other domains: all jobs of a group name the same ones",
    MateProblem.OTHER_WINDOWS: (
        "the job on {domain} has other --window or --at than this one: all jobs of a group give the same"
    ),
    MateProblem.NO_SLOTS: (
        'slots are off on {domain}: --window and --at need them (scheme = "meet", or slots = true, in its '
        "[coscheduling])"
    ),
    MateProblem.UNKNOWN: _NOBODY,
    MateProblem.NOT_WAITING: _NOBODY,
    MateProblem.TAKEN: "{domain} knows another job of this domain in it: choose another name",
    MateProblem.RUNNING: "its job on {domain} runs already",
    **{how: f"its job on {{domain}} has ended ({how})" for how in _ENDED},
    MateProblem.OFF: _TEXTS[MateProblem.OFF],
    MateProblem.NO_GROUPS: "{domain} takes no members of groups: leave it out, or pair the job",
    MateProblem.CIRCLE: (
        "the job on {domain} ends with this one, and this one would end with that, or by way of others: leave out one "
        "--ends-with"
    ),
    MateProblem.ARRAY: (
        "its job on {domain} and this one are not arrays of the same tasks: arrays (of Slurm) meet task by task, "
        "and one job with one job"
    ),
    MateProblem.HETEROGENEOUS: (
        "its job on {domain} is a heterogeneous job whose components name different mates: name this one in the first "
        "one's comment"
    ),
}

# What is said of a member that is named by its id, not of its group
_OF_IDS = (MateProblem.UNKNOWN, MateProblem.NOT_WAITING, MateProblem.OTHER_OWNER, MateProblem.TAKEN)


def wrong_member(domain: str, group: str, problem: str | None, job: str | None = None) -> str:
    """Say what is wrong with the member of a group on `domain`; `job`: its id, if it is named by that.

    `problem`: as of `wrong_mate`.
    """
    if job is not None and problem in _OF_IDS:
        return f"group {group}: {wrong_mate(domain, job, None, problem)}"
    said = _OF_GROUPS.get(problem or "", "{domain} knows no such group")
    return f"group {group}: {said.format(domain=domain)}"


def wrong_mate(domain: str, job: str | None, pair: str | None, problem: str | None) -> str:
    """Say what is wrong with a mate on `domain` that is named by its id, `job`, or by the name of its pair.

    `problem`: a MateProblem; None if the peer gave none, or one that this version does not know.
    """
    if problem == MateProblem.NO_DOMAIN:
        ways = " or ".join(f"group={pair}@{one}" for one in domain.split(ANY_OF))
        return f"pair {pair} is named without its mate's domain, and there are several: write {ways}"
    if not job and problem in (MateProblem.UNKNOWN, MateProblem.NOT_WAITING):
        return _NOBODY.format(domain=domain)
    mate = f"{domain}:{job}" if job else f"the job of pair {pair} on {domain}"
    return _TEXTS.get(problem or "", _NOT_SAID).format(domain=domain, job=job, mate=mate)


def near_name(domain: str, name: str, owner: str, here: str, job: str, group: Sequence[str] = ()) -> str:
    """Ask whether a name was meant that waits on `domain`, and comes near that by which `job` waits on `here`.

    `group`: the domains of the job's group; without, it is a pair's name.
    """
    what, mate, more = ("group", "member", f" --with {','.join(group)}") if group else ("pair", "mate", "")
    correct = f"cosched link {job} --{what} {name}{more}"
    return f"{what} {name} of {owner} waits on {domain} for a {mate} on {here}; did you mean it? {correct}"
