"""The hook of OpenPBS for cosched: asks the service whether a job may run, and checks what users write.

pbs_server runs it in its own Python, one call at a time, so it never waits for long: the service answers from its
memory. If it does not answer in time, jobs that name a mate wait for the next scheduling cycle, and all others run.
If there is no service, jobs that name a mate wait for `patience` seconds, since it is perhaps restarted, and run then.

Its configuration (qmgr: import hook cosched application/x-config default FILE) is JSON:
    {"socket": "/run/cosched/hooks.sock", "domain": "mira", "peers": ["eureka"], "patience": 120}
"""

import contextlib
import json
import os
import re
import socket
import struct
import time
from typing import Any
from urllib.parse import quote, unquote

import pbs

PATIENCE = 0.2  # seconds
MATES = ("pair", "mate", "group")  # a job has one of these
BESIDE = ("or_alone", "ends_with", "fail_together", "if_requeued", "together_for")  # only with one of these
NAMES = (*MATES, *BESIDE)
ADOPTABLE = "adoptable"  # of a job that has none
PAIR = re.compile(r"[A-Za-z0-9_.:,+=@/-]{1,128}")
MATE = re.compile(r"([A-Za-z0-9_.-]{1,64}):[!-~]{1,128}")
DOMAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
JOB = re.compile(r"(.*:)?[0-9]+")  # what commands take for a job, and not for the name of a group
MEMBERS = 16  # of a group, at most
ALLOWED = "1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"
KEPT = ".kept"  # beside the socket there is such a file while nodes are kept for a job
NO_BOOLEAN = "-1"  # what PBS makes of a word that is none


class SilentError(Exception):
    """The service is there, and does not answer in time."""


def settings() -> "dict[str, Any]":
    """Return the hook's configuration."""
    with open(pbs.hook_config_filename) as file:
        found: dict[str, Any] = json.load(file)
    return found


def ask(verb: str, **fields: object) -> "tuple[str, dict[str, str]] | None":
    """Return the service's answer, and its fields; None: there is no service. SilentError."""
    words = [verb, *(f"{key}={quote(str(value), safe='')}" for key, value in fields.items() if value is not None)]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as service:
        patience = struct.pack("ll", *divmod(int(PATIENCE * 1e6), 10**6))
        service.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        try:
            service.connect(settings()["socket"])  # waits while the queue is full, which it does not with a timeout
            service.settimeout(PATIENCE)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except OSError as error:
            raise SilentError from error
        answer = exchange(service, "\t".join(words) + "\n")
    verb, *told = answer.split("\t")
    return verb, {key: unquote(value) for key, _, value in (word.partition("=") for word in told)}


def exchange(service: socket.socket, line: str) -> str:
    """Send a line, and return the answer. SilentError."""
    answer = b""
    try:
        service.sendall(line.encode())
        while not answer.endswith(b"\n"):
            part = service.recv(4096)
            if not part:
                raise SilentError
            answer += part
    except OSError as error:
        raise SilentError from error
    return answer.decode().rstrip("\n")


def given(job: Any) -> "dict[str, str]":
    """Return the resources that name a mate, as they are given in a request; empty ones as well."""
    found = {name: resource(job, name) for name in NAMES}
    return {name: str(value) for name, value in found.items() if value is not None}


def resource(job: Any, name: str) -> Any:
    """Return a resource of a job; None also if the site has not created it."""
    try:
        return job.Resource_List[name]
    except AttributeError:
        return None


def named(job: Any) -> "dict[str, str]":
    """Return the resources of a job that name its mate."""
    return {name: value for name, value in given(job).items() if value}


def is_adoptable(job: Any) -> bool:
    """Whether a request says that any of the owner's jobs that names this one may have it."""
    return str(resource(job, ADOPTABLE)).lower() in ("true", "t", "yes", "y", "1")


def runjob(event: Any) -> None:
    """The server is about to run a job."""
    job, words = event.job, named(event.job)
    if not words and not os.path.exists(settings()["socket"] + KEPT):
        return  # most jobs, most of the time
    if words and str(job.Hold_Types or "n") != "n":
        event.reject("the job is held (qrls releases it)")  # qrun does not look at this
    told = {
        "job": job.id, "vnodes": job.exec_vnode, "owner": job.euser, "name": job.Job_Name,
        "account": job.Account_Name or "", "project": job.project or "",
    }  # fmt: skip
    try:
        answer = ask("runjob", requestor=event.requestor, **told, **words)
        note_presence(answer is not None)
    except SilentError:
        answer = ("reject", {"why": "cosched does not answer"}) if words else None
    if answer is None and words and time.time() < os.stat(mark()).st_mtime + settings().get("patience", 120):
        answer = ("reject", {"why": "cosched is away"})
    if answer is not None and answer[0] == "reject":
        event.reject(answer[1]["why"])
    for name, value in (answer[1] if answer is not None else {}).items():
        job.Variable_List[name] = re.sub(r"([\\,])", r"\\\1", value)  # PBS takes a comma for the end of a value


def mark() -> str:
    """Return the file whose time says since when there has been no service."""
    return os.path.join(os.path.dirname(pbs.hook_config_filename), "cosched.absent")


def note_presence(there: bool) -> None:
    """Note whether there is a service."""
    if there and os.path.exists(mark()):
        os.unlink(mark())
    if not there and not os.path.exists(mark()):
        with open(mark(), "w"):
            pass


def mistake(words: "dict[str, str]") -> "str | None":
    """Return what is wrong with the words that name a mate, or None."""
    if NO_BOOLEAN in (words.get("or_alone"), words.get("fail_together")):
        return None  # PBS says so
    named = [name for name in MATES if name in words]
    if len(named) > 1:
        return f"give {' or '.join(named)}, not {'both' if len(named) == 2 else 'all'}"
    if not named:
        return f"{next(name for name in BESIDE if name in words)} has no effect without pair, mate or group"
    check = {"pair": wrong_pair, "mate": wrong_mate, "group": wrong_group}[named[0]]
    return check(words[named[0]])


def wrong_pair(pair: str) -> "str | None":
    """Return what is wrong with a pair's name, or None."""
    peers = settings().get("peers", [])
    if not PAIR.fullmatch(pair):
        return f"pair is {ALLOWED}"
    if len(peers) > 1 and not settings().get("default_peer"):
        return f"this domain is coupled with {', '.join(peers)}: say which by group={pair}@DOMAIN"
    return None


def wrong_group(group: str) -> "str | None":
    """Return what is wrong with a group, or with a pair whose domain is named, or None."""
    name, at, domains = group.rpartition("@")
    others = domains.split("+")
    if not at or not all(DOMAIN.fullmatch(domain) for domain in others):
        return "group is NAME@DOMAIN+DOMAIN, with the domains of the other members, such as run7@eureka+polaris"
    if not PAIR.fullmatch(name):
        return f"the name of a group is {ALLOWED}"
    if len(others) > 1 and JOB.fullmatch(name):
        return "the name of a group that ends in a number alone is taken for a job: add a letter"
    if len(others) >= MEMBERS:
        return f"a group has at most {MEMBERS} members, with the job itself"
    return next((wrong for domain in others if (wrong := wrong_member(domain, others)) is not None), None)


def wrong_member(domain: str, others: "list[str]") -> "str | None":
    """Return why no other member of a group can be in this domain, or None."""
    if others.count(domain) > 1:
        return f"group names {domain} twice: a group has one job on each domain"
    if domain == settings().get("domain"):
        return f"group names the other members' domains, and {domain} is this one"
    return unknown(domain)


def wrong_mate(mate: str) -> "str | None":
    """Return what is wrong with a mate's name, or None."""
    match = MATE.fullmatch(mate)
    if match is None:
        return "mate is DOMAIN:ID, such as eureka:17"
    if "[" in mate:
        return "a job array and its subjobs cannot be mates"
    if match.group(1) == settings().get("domain"):
        return "the mate must be a job of another domain"
    return unknown(match.group(1))


def unknown(domain: str) -> "str | None":
    """Return that a domain is unknown, or None."""
    peers = settings().get("peers", [])
    return f"no domain {domain} is known here (known: {', '.join(peers)})" if peers and domain not in peers else None


def hindrance(job: Any) -> "str | None":
    """Return why a job of this kind, or with these changes, cannot have a mate, or None."""
    if getattr(job, "array_indices_submitted", None):
        return "a job array cannot have a mate: its subjobs start one by one"
    if getattr(job, "interactive", None):
        return "an interactive job cannot have a mate: its user would wait at the terminal"
    if getattr(job, "depend", None):
        return "a job with -W depend cannot have a mate"
    if getattr(job, "create_resv_from_job", None):
        return "a job that becomes a reservation cannot have a mate"
    return misplaced(str(getattr(job, "queue", None) or ""))


def misplaced(queue: str) -> "str | None":
    """Return why no job in this queue can have a mate, or None."""
    name, _, server = queue.partition("@")
    if server not in ("", pbs.server().name):
        return f"a job with a mate cannot be moved to {server}"
    if name and pbs.server().resv(name) is not None:
        return "a job in a reservation cannot have a mate"
    return None


def queuejob(event: Any) -> None:
    """Check what a user submits."""
    words = given(event.job)
    refuse(event, mistake(words) or hindrance(event.job) if words else None)
    if is_adoptable(event.job):
        refuse(event, "adoptable is for a job that names nobody" if words else hindrance(event.job))
    tell("queued")


def modifyjob(event: Any) -> None:
    """Check a change; the nodes that are kept for a job do not fit it if its resources change."""
    changes = given(event.job)
    words = {name: value for name, value in {**named(event.job_o), **changes}.items() if value}
    if words and changes:
        refuse(event, mistake(words) or change_of_group(named(event.job_o), words) or hindrance(event.job_o))
    if words:
        refuse(event, hindrance(event.job))
    if set(event.job.Resource_List.keys()) - {*NAMES, ADOPTABLE, "walltime"}:
        ask_to_change(event, event.job)
    tell("queued")


def change_of_group(before: "dict[str, str]", words: "dict[str, str]") -> "str | None":
    """Return why a job cannot change from a mate or a group to another group, or from a group to a mate; or None."""
    before, words = ({name: known[name] for name in MATES if name in known} for known in (before, words))
    if before == words or not before or not words or not (in_group(before) or in_group(words)):
        return None
    return "a job names its group at submission: submit it anew (-l group= alone lets it leave its group)"


def in_group(words: "dict[str, str]") -> bool:
    """Whether these words name a group, and no pair."""
    return "+" in words.get("group", "").rpartition("@")[2]


def movejob(event: Any) -> None:
    """Check a move to another queue; the nodes that are kept for a job may not be that queue's."""
    if named(event.job):
        refuse(event, hindrance(event.job))
        ask_to_change(event, event.job)


def refuse(event: Any, wrong: "str | None") -> None:
    """Tell the user what is wrong, if anything is."""
    if wrong is not None:
        event.reject(f"cosched: {wrong}")


def ask_to_change(event: Any, job: Any) -> None:
    """Let the service keep nothing any more for a job that is about to change."""
    with contextlib.suppress(SilentError):
        answer = ask("changing", job=job.id)
        if answer is not None and answer[0] == "reject":
            refuse(event, answer[1]["why"])


def tell(verb: str, **fields: object) -> None:
    """Tell the service something, if it is there."""
    with contextlib.suppress(SilentError):
        ask(verb, **fields)


def main() -> None:
    """Handle one event of the server."""
    event = pbs.event()
    handlers = {pbs.RUNJOB: runjob, pbs.QUEUEJOB: queuejob, pbs.MODIFYJOB: modifyjob, pbs.MOVEJOB: movejob}
    try:
        if event.type in handlers:
            handlers[event.type](event)
        elif named(event.job):  # jobobit
            tell("ended", job=event.job.id)
    except Exception as error:
        pbs.logmsg(pbs.LOG_WARNING, f"cosched: {type(error).__name__}: {error}")
    event.accept()


main()
