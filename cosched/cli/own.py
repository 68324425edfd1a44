"""`cosched up`, `down`, `peer` and `peer-stream`: a service of one's own, without an administrator (docs/anyone.md)."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cosched.cli.output.failures import FAILED, UNREACHABLE, Failure
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say, show_text
from cosched.cli.own_service import OwnService
from cosched.client.defaults import SOCKETS
from cosched.words.errors import InputError

ASKS = 15.0  # seconds that a batch system may take to say its name
ANSWERS = 60.0  # seconds that a new peer may take
CLOCKS = 0.5  # seconds by which clocks may differ
DAYS = 7  # of a week, over which a budget is spread
_NAME = "What peers call this cluster (its name in Slurm or PBS, or this host's)."
_BATCH = {  # the command by which a cluster tells its name, where that stands, and what it is called
    "slurm": (("scontrol", "show", "config"), r"^ClusterName\s*=\s*(\S+)", "Slurm"),
    "pbs": (("qstat", "-B", "-f"), r"^Server: *([^\s.]+)", "PBS"),
}


@click.command()
@click.option("--name", metavar="DOMAIN", help=_NAME)
@click.option("--manager", type=click.Choice([*_BATCH, "local"]), help="What runs the jobs (Slurm or PBS, as is here).")
@click.option("--slots", type=click.IntRange(min=1), help="Of local processes: how many nodes' worth at once (4).")
@click.option("--scheme", type=click.Choice(["hold", "yield"]), help="What jobs do whose mates are not ready (hold).")
@click.option("--hold-budget", type=click.FloatRange(min=0), metavar="NODE-HOURS", help="A week; a seventh each day.")
@click.option("--here", is_flag=True, help="The host where it ran last is gone for good.")
def up(
    name: str | None, manager: str | None, slots: int | None, scheme: str | None, hold_budget: float | None, *,
    here: bool,
) -> None:  # fmt: skip
    """Start your own service on this login node, or find it. It ends by itself when it has had no jobs for an hour.

    The first time it is set up: its files are in ~/.local/state/cosched, and service.toml there is yours to change.
    """
    own = OwnService()
    if not own.exists:
        _make(own, name, manager, slots, scheme or "hold", hold_budget)
    elif any(given is not None for given in (name, manager, slots, scheme, hold_budget)):
        raise InputError(str(own.config), None, "is there already: change it there, then cosched down && cosched up")
    started = own.start(here=here)
    show_text(f"{own.name} {'serves' if started else 'serves already'}: {own.socket}")


def _make(
    own: OwnService, name: str | None, manager: str | None, slots: int | None, scheme: str, hold_budget: float | None
) -> None:
    kind, cluster = _batch_system(manager)
    if kind == "pbs" and scheme == "yield":
        why = "PBS lets only operators queue a running job again, so your jobs hold there: let the other side yield"
        raise InputError("--scheme", None, why)
    system: dict[str, Any] = {"kind": kind, "slots": slots or 4}
    section: dict[str, Any] = {"scheme": scheme, "max_yields": 3}
    if cluster:
        system = {"kind": kind, "gates": str(own.folder / "gates"), "try_patience": 30, "poll_interval": 5}
        section["peer_timeout"] = 45  # longer than a try to start
    named = name or re.sub(r"[^a-z0-9-]", "-", (cluster or socket.gethostname().partition(".")[0]).lower())
    own.make({"name": named}, section, system)
    if hold_budget is not None:
        user, daily = getpass.getuser(), round(hold_budget / DAYS, 3)
        with own.config.open("a") as file:
            file.write(f'\n[[account]]\nname = "{user}"\nusers = ["{user}"]\nmax_held_node_hours = {daily}  # a day\n')
        if kind == "pbs":
            say("--hold-budget is only counted (cosched usage): jobs of PBS cannot yield, and so hold all the same")


def _batch_system(manager: str | None) -> tuple[str, str]:
    """Return what runs the jobs here, and the name of its cluster; empty: local processes, if so chosen. InputError."""
    for kind, (asked, name, who) in _BATCH.items():
        cluster = _said(asked, name) if manager in (kind, None) else ""
        if cluster:
            return kind, cluster
        if manager == kind:
            why = f"{shlex.join(asked)} tells no cluster here: is this a login node of {who}?"
            raise InputError("--manager", None, why)
    if manager is None:
        why = "neither scontrol nor qstat tells of a cluster here: have Slurm's or PBS's commands in your PATH"
        raise InputError("--manager", None, f"{why}, in logins by ssh, too; or cosched up --manager local")
    return "local", ""


def _said(asked: Sequence[str], name: str) -> str:
    """Return the name that a command prints; empty if there is no command, or no answer."""
    if shutil.which(asked[0]) is None:
        return ""
    try:
        done = subprocess.run(asked, capture_output=True, timeout=ASKS, check=True, text=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    found = re.search(name, done.stdout, re.MULTILINE)
    return found[1] if found else ""


@click.command()
def down() -> None:
    """End your own service. Jobs go on; those that wait in their gates do so as long as they are patient.

    Your next command starts it again, but no connection from a peer and no gate.
    """
    own = OwnService()
    if not own.exists:
        raise Failure("you have no service of your own here: cosched up makes one", FAILED)
    show_text(f"{own.name} {'has ended' if own.end() else 'did not run'}")


@click.group()
def peer() -> None:
    """Couple your own service with that of another account of yours."""


@peer.command()
@click.argument("name")
@click.argument("login", metavar="[USER@]HOST")
def add(name: str, login: str) -> None:
    """Couple it with the service NAME at [USER@]HOST, which ssh must reach without asking for a password.

    The service there is started if need be, and learns of this one. One connection by ssh carries both directions.
    """
    own = OwnService()
    if not own.exists:
        raise Failure("you have no service of your own here yet: cosched up", FAILED)
    there, ahead = asyncio.run(_greeted(own, name, login))
    if there["domain"] != name:
        raise InputError("NAME", None, f"the service at {login} is {there['domain']}: cosched peer add it by that name")
    own.add_peer(name, there["user"], login)
    own.end()
    own.start()
    _await_answer(own, name)
    show_text(f"{own.name} and {name} are coupled, by ssh {login}")
    if abs(ahead) > CLOCKS:
        said = f"the clock of {name} is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"
        say(f"{said}: pairs may start so far apart; ask for a time service there")


def _await_answer(own: OwnService, name: str) -> None:
    """Wait until the peer answers: no job starts alone because the connection is being made. Failure."""
    from cosched.client import Client

    problem, over = "", time.monotonic() + ANSWERS
    with Client(f"unix:{own.socket}") as client:
        while time.monotonic() < over:
            found = next(peer for peer in client.domain().peers if peer.name == name)
            if found.state == "reachable":
                return
            problem = found.problem
            time.sleep(0.2)
    raise Failure(printable(f"{name} is coupled, but does not answer yet: {problem}"), UNREACHABLE)


async def _greeted(own: OwnService, name: str, login: str) -> tuple[dict[str, Any], float]:
    """Return the greeting of the service there, and how far its clock is ahead, in seconds; Failure."""
    from cosched.sockets.hello import HelloError, greeting
    from cosched.sockets.ssh import SshStream

    stream = SshStream(login)
    try:
        await stream.open(greeting(own.name, name))
    except HelloError as error:
        raise Failure(printable(f"{login}: {error}"), UNREACHABLE) from None
    there = dict(stream.there)
    ahead = float(there.get("time", time.time())) - time.time()
    await stream.close()
    return there, ahead


@click.command("peer-stream", hidden=True)
def peer_stream() -> None:
    """Speak with a peer's service over standard input and output: what `cosched peer add` runs by ssh."""
    asyncio.run(_serve_stream())


async def _serve_stream() -> None:
    from cosched.sockets.hello import HelloError, read_hello, written
    from cosched.sockets.streams import StreamError, Streams

    reader, writer = await _standard_streams()
    own = OwnService()
    try:
        there = await read_hello(reader)
        asked = str(there.get("to", ""))  # older versions do not say it
        if (door := _door(there["domain"], asked)) is None:
            _refuse_if_shut_out(own, there["domain"], asked)
            await asyncio.to_thread(_prepared, own, there["domain"], there["user"])
    except (HelloError, InputError, Failure) as error:
        writer.write(written({"problem": getattr(error, "message", None) or str(error)}))
        await writer.drain()
        return
    name = own.name if door is None else door.parent.name
    writer.write(written({"domain": name, "user": getpass.getuser(), "time": time.time()}))
    inward, outward = ((door or own.folder / "peers") / f"{there['domain']}.{way}" for way in ("in", "out"))

    async def arrive() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_unix_connection(inward)
        except OSError:  # it has ended by itself, or was killed
            if door is not None:
                raise
            await asyncio.to_thread(_brought_up, own)
            return await asyncio.open_unix_connection(inward)

    try:
        await Streams(reader, writer, arrive, first=False).join(outward, others=door is not None)
    except StreamError as error:
        raise Failure(str(error), FAILED) from None


def _door(peer: str, asked: str) -> Path | None:
    """Return the folder by which an administrators' service here lets this user's own service in; None: none does.

    That is DOMAIN/USER below /run/cosched/peers (or COSCHED_PEERS), and has the socket at which the peer calls; that of
    the domain that it asks for comes first.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", peer):
        raise InputError("peer", None, "is not the name of a domain")
    found = sorted(socket.parent for socket in _doors().glob(f"*/{getpass.getuser()}/{peer}.in"))
    return min(found, key=lambda door: door.parent.name != asked, default=None)


def _doors() -> Path:
    return Path(os.environ.get("COSCHED_PEERS") or SOCKETS / "peers")


def _refuse_if_shut_out(own: OwnService, peer: str, asked: str) -> None:
    """Refuse a peer that asks for an administrators' service here which does not let it in; Failure.

    No service of the user's own takes its place, unless it has that name already.
    """
    site, user = _doors() / asked, getpass.getuser()
    if not asked or not site.is_dir() or (own.exists and own.name == asked):
        return
    if not (site / user).is_dir():
        why = f"does not admit {user}: ask its administrators"
    elif names := sorted(found.stem for found in (site / user).glob("*.in")):
        why = f"admits your service as {' or '.join(names)}, not as {peer}: set that name in service.toml"
    else:
        why = f"is down, or does not know {peer}: ask its administrators"
    raise Failure(f"the administrators' service {asked} {why}", FAILED)


def _prepared(own: OwnService, peer: str, user: str) -> None:
    """Let the service of this account run, and know the peer."""
    if not own.exists:
        _make(own, None, None, None, "hold", None)
    if peer == own.name:
        raise InputError("peer", None, f"both services are named {peer}: set another name in service.toml of one")
    _refuse_if_ended(own)
    if own.add_peer(peer, user):
        own.end()
    own.start()


def _refuse_if_ended(own: OwnService) -> None:
    if own.is_ended:
        raise Failure("the service there was ended by cosched down: cosched up there", FAILED)


def _brought_up(own: OwnService) -> None:
    try:
        _refuse_if_ended(own)
        own.bring_up()
    except (InputError, Failure) as error:
        raise ConnectionError(str(error)) from None


async def _standard_streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb"))
    flow, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # nothing else may be printed there
    return reader, asyncio.StreamWriter(flow, protocol, reader, loop)
