"""A job's user and environment. A job inherits nothing of the service's own environment."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from cosched_adapters.launcher import JobSpec, SpecError
from cosched_adapters.local.child import DEFAULT_PATH
from cosched_adapters.local.jobfile import TOKEN


@dataclass(frozen=True, slots=True)
class Account:
    """The user whose processes a job runs; `uid` None: the service's own user, no change needed."""

    uid: int | None
    groups: tuple[int, ...]
    variables: dict[str, str]


def account(user: str | None) -> Account:
    """Return a user's account (None: the service's own); SpecError if there is none or the service may not use it."""
    try:
        entry = pwd.getpwuid(os.geteuid()) if user is None else pwd.getpwnam(user)
    except KeyError:
        if user is None:  # a user without an entry, as in some containers
            return Account(None, (), {"PATH": DEFAULT_PATH})
        raise SpecError("user", "is not known on this host") from None
    variables = {"PATH": DEFAULT_PATH, "HOME": entry.pw_dir, "SHELL": entry.pw_shell or "/bin/sh"}
    variables |= {"USER": entry.pw_name, "LOGNAME": entry.pw_name}
    if entry.pw_uid == os.geteuid():
        return Account(None, (), variables)
    if os.geteuid() != 0:
        raise SpecError("user", "is not the user of this service, which cannot run processes of others")
    others = set(os.getgrouplist(entry.pw_name, entry.pw_gid)) - {entry.pw_gid}
    return Account(entry.pw_uid, (entry.pw_gid, *sorted(others)), variables)


def environment(spec: JobSpec, domain: str, account: Account, names: list[str], token: str) -> dict[str, str]:
    """Return the job's environment: its user's defaults, then the variables of the submission, then COSCHED_*."""
    mates = {"COSCHED_MATE": spec.mate, "COSCHED_PAIR": spec.pair, "COSCHED_GROUP": spec.group}
    ours = {
        "COSCHED_JOB_ID": spec.job_id,
        "COSCHED_NODES": str(spec.nodes),
        "COSCHED_NODELIST": ",".join(names),
        "COSCHED_DOMAIN": domain,
        TOKEN: token,
        **{name: value for name, value in mates.items() if value is not None},
    }
    theirs = {name: value for name, value in spec.environment.items() if not name.startswith("COSCHED_")}
    return account.variables | theirs | dict(spec.finding) | ours
