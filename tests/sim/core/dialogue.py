"""Turns what an engine tells, or a core wants done, into a dialogue that a person can read: one event a line."""

from collections.abc import Iterable

from cosched.core.effects import Answer, Call, Effect, Hold, Record, Yield
from cosched.core.protocol import FOREVER, MateJobId, MateStatus, Reply, Request
from tests.sim.core.replays import Jobs, Replay

Line = tuple[int, str, str, str, dict[str, object]]  # instant, domain, job, what, detail
INTENTIONS = ("asks to try its mate", "asks to start its mate", "proposes a start to its group", "is booked")


def heading(title: str, machines: dict[str, tuple[str, Jobs]], pairs: Iterable[tuple[str, str]]) -> list[str]:
    """What the dialogue shows, and the jobs of each machine with its scheme."""
    lines = [f"# {title}", "#"]
    for domain, (scheme, jobs) in machines.items():
        lines.append(f"# {domain}, 10 nodes, {scheme}:")
        lines += [
            f"#   {name}  submitted at {submit}, runs {run} s on {nodes} nodes"
            + "".join(f", requests {r} s" for r in requested)
            for name, (submit, run, nodes, *requested) in jobs.items()
        ]
    return [*lines, "# Pairs: " + ", ".join(map("-".join, pairs)), ""]


def ending(run: Replay) -> list[str]:
    starts = run.starts()
    return ["", *(f"# {name} started at {start}" for name, start in starts.items() if start is not None)] + [
        f"# {name} never started" for name, start in starts.items() if start is None
    ]


def told(lines: Iterable[Line]) -> list[str]:
    """The lines of an engine's story; what a job is about to ask is left out, since the answer is told too."""
    return [
        f"{now:7}  {domain}  {job:3}  {_sentence(what, detail)}"
        for now, domain, job, what, detail in lines
        if what not in INTENTIONS
    ]


def _sentence(what: str, detail: dict[str, object]) -> str:
    if what in QUESTIONS:
        return QUESTIONS[what](detail)
    return _event(what, detail)


def _event(what: str, detail: dict[str, object]) -> str:
    if what == "holds":
        return f"holds {detail['nodes']} nodes {_until(detail['until'])} (hold {detail['generation']}, {detail['why']})"
    if what == "yields":
        return f"yields ({detail['why']})"
    if what == "has a slot":
        return f"has a slot at {detail['slot']} (generation {detail['generation']})"
    if what == "lost its slot":
        return f"lost its slot at {detail['slot']}: {detail['why']}"
    if what == "answers":
        return f"is asked by request {detail['request']}: {_yes(detail['started'])}"
    gap = f" by {detail['gap_s']} s" if detail.get("gap_s") is not None else ""
    return f"{what}: {detail['why']}{gap}" if "why" in detail else what


def _yes(started: object) -> str:
    return "yes" if started else "no"


def _until(instant: object) -> str:
    return "for ever" if instant == FOREVER else f"until {instant}"


def _found(detail: dict[str, object]) -> str:
    answer = detail["answer"]
    return f"asks {detail['to']} for its mate: {answer['job'] or answer['found']}"


def _status(detail: dict[str, object]) -> str:
    answer = detail["answer"]
    status = f"{answer['status']} (hold {answer['generation']})" if answer["status"] == "holding" else answer["status"]
    return f"asks {detail['to']} for the status of {detail['job']}: {status}"


def _tried(detail: dict[str, object]) -> str:
    else_ = f"hold {_until(detail['hold_until'])}" if detail["hold_until"] else "yield"
    asked = f"tries to start {detail['job']} (request {detail['request_id']}; else it will {else_})"
    return f"{asked}: {_yes(detail['answer']['started'])}"


def _started(detail: dict[str, object]) -> str:
    asked = f"starts {detail['job']} (request {detail['request_id']}, hold {detail['generation']})"
    return f"{asked}: {_yes(detail['answer']['started'])}"


def _proposed(detail: dict[str, object]) -> str:
    answer = detail["answer"]
    if "not_before" not in detail:
        return f"proposes to {detail['to']} that {detail['job']} starts now, at its slot: {answer['vote']}"
    said = f"at {answer['earliest']}" if "earliest" in answer else "no"
    booked = ", booked" if answer["vote"] == "booked" else ""
    earlier = f" and before {detail['only_before']}" if "only_before" in detail else ""
    asked = f"asks {detail['to']} when {detail['job']} could start, from {detail['not_before']} on{earlier}"
    return f"{asked}: {said}{booked}"


def _settled(detail: dict[str, object]) -> str:
    about = "starts" if detail["start"] else "keeps its slot" if detail["keep"] else "loses its slot"
    return f"tells {detail['to']} that {detail['job']} {about}: {_yes(detail['answer']['current'])}"


QUESTIONS = {
    "GetMateJobId": _found, "GetMateStatus": _status, "TryStartMate": _tried, "StartJob": _started,
    "ProposeGroupStart": _proposed, "SettleGroupStart": _settled,
}  # fmt: skip


def wanted(domain: str, job: str, effect: Effect) -> str | None:
    """One effect of a core whose messages are under way for a while."""
    said = None
    if type(effect) is Call:
        said = f"-> {effect.peer}: {_message(effect.request)}"
    elif type(effect) is Answer:
        said = f"-> {effect.peer}: {_message(effect.answer)}"
    elif type(effect) is Record and effect.what not in INTENTIONS:
        said = _event(effect.what, effect.stored())
    assert type(effect) not in (Hold, Yield), "in this dialogue both start"
    return said and f"{domain}  {job:3}  {said}"


def _message(message: Request | Reply) -> str:
    if type(message) is MateJobId:
        return f"the mate is {message.job}"
    if type(message) is MateStatus:
        return f"its status is {message.status}, hold {message.generation}"
    unset = message._field_defaults
    said = {key: value for key, value in message._asdict().items() if value not in (None, "", unset.get(key))}
    fields = ", ".join(f"{key}={value}" for key, value in said.items())
    return f"{type(message).__name__}({fields})"
