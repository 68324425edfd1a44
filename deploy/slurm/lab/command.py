"""The command `lab`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from deploy.lab.service import cosched
from deploy.lab.waiting import LabError
from deploy.slurm.lab.cluster import without_slurm
from deploy.slurm.lab.configuration import Options
from deploy.slurm.lab.coupled import SCHEMES, CoupledLab
from deploy.slurm.lab.laboratory import NAMES, Lab
from deploy.slurm.lab.programs import search_path
from deploy.slurm.lab.takedown import take_down

_LAST_WORDS = 5.0  # seconds that the command of `run` gets to end after a signal
_NO_SETTINGS = ("directory", "names", "schemes", "services", "options")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Ended(BaseException):  # not an Exception, so that no handler on the way catches it
    """A signal has told this process to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        with _signals_raised():
            return int(asked.do(asked))
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except _Ended as ended:
        return 128 + ended.number


def _up(asked: argparse.Namespace) -> int:
    lab = _lab(asked)
    lab.start()
    print(f"LAB_DIR={lab.directory}")
    for name, variables in _variables(lab).items():
        print(f"{name}: export {' '.join(f'{key}={value}' for key, value in variables.items())}")
    lab.detach()
    print(f"take it down with: {sys.argv[0]} down {lab.directory}", file=sys.stderr)
    return 0


def _down(asked: argparse.Namespace) -> int:
    take_down(asked.directory)
    return 0


def _run(asked: argparse.Namespace) -> int:
    with _lab(asked) as lab:
        first = next(iter(_variables(lab).values()))
        code = _call(asked.command, _environment(asked) | first | {"LAB_DIR": str(lab.directory)})
    return code if code >= 0 else 128 - code


def _call(argv: list[str], environment: dict[str, str]) -> int:
    # Block signals until we know the command's process: else a signal meanwhile would leave the command behind.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        unblock = partial(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        command = subprocess.Popen(argv, env=environment, preexec_fn=unblock)
    except OSError as error:
        raise LabError(f"{argv[0]}: {error.strerror}") from None
    try:
        unblock()
        return command.wait()
    except _Ended as ended:
        if ended.number != signal.SIGINT:  # Ctrl-C has reached the command already
            command.send_signal(ended.number)
        try:
            command.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
        raise


def _variables(lab: Lab | CoupledLab) -> dict[str, dict[str, str]]:
    """Return the environment variables for commands of each cluster."""
    if isinstance(lab, Lab):
        return {cluster.name: {"SLURM_CONF": str(cluster.conf)} for cluster in lab}
    return {of.name: {"SLURM_CONF": str(of.cluster.conf), "COSCHED_SERVER": of.service.server} for of in lab}


def _environment(asked: argparse.Namespace) -> dict[str, str]:
    """Return our environment without a job's around us, with the laboratory's Slurm, and cosched if asked for."""
    path = search_path(os.environ.get("PATH", os.defpath))
    if asked.cosched:
        path = os.pathsep.join([str(Path(cosched()).parent), path])
    return without_slurm(os.environ) | {"PATH": path}


def _lab(asked: argparse.Namespace) -> Lab | CoupledLab:
    options = {field.name: getattr(asked, field.name) for field in fields(Options)} | {"lines": tuple(asked.lines)}
    if not asked.cosched:
        if asked.schemes or asked.settings:
            raise LabError("--schemes and --set are for --cosched")
        return Lab(asked.directory, asked.names, **options)
    if asked.prolog or asked.task_prolog or asked.jobcomp:
        raise LabError("--cosched brings its own --prolog, --task-prolog and --jobcomp")
    schemes = asked.schemes or (*SCHEMES, *[SCHEMES[-1]] * len(asked.names))[: len(asked.names)]
    return CoupledLab(asked.directory, asked.names, schemes=schemes, options=options, **dict(asked.settings))


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Raise _Ended at the first signal to end; ignore later ones, so that they do not disturb the clean-up."""

    def end(number: int, _: FrameType | None) -> NoReturn:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise _Ended(number)

    for number in _SIGNALS:
        signal.signal(number, end)
    yield


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description="Real Slurm clusters on this host, as any user.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start clusters and leave them running")
    up.set_defaults(do=_up)
    run = commands.add_parser("run", help="start clusters, run a command, take them down")
    run.set_defaults(do=_run)
    for each in (up, run):
        _add_options(each)
    run.add_argument("command", nargs="+", metavar="-- COMMAND", help="has LAB_DIR and the first cluster's variables")
    down = commands.add_parser("down", help="end everything that clusters have left, in any state")
    down.set_defaults(do=_down)
    down.add_argument("directory", type=Path, metavar="DIR")
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dir", dest="directory", type=Path, metavar="DIR", help="an empty or new folder (default: a temporary one)")
    add("--names", type=_names, default=NAMES, metavar="A,B", help=f"the clusters (default: {','.join(NAMES)})")
    add("--nodes", type=_positive, default=4, metavar="N", help="nodes of each cluster (default: 4)")
    add("--cpus", type=_positive, default=1, metavar="N", help="CPUs of each node (default: 1)")
    gpus = "GPUs of each node, without real devices (default: none)"
    add("--gpus", type=_positive, default=0, metavar="N", help=gpus)
    add("--memory", type=_positive, default=0, metavar="MB", help="memory of each node, which Slurm counts")
    add("--prolog", type=_file, metavar="FILE", help="PrologSlurmctld")
    add("--task-prolog", type=_file, metavar="FILE", help="TaskProlog")
    add("--jobcomp", type=_file, metavar="FILE", help="the script of jobcomp/script")
    add("--job-submit", type=_file, metavar="FILE", help="job_submit.lua")
    add("--line", dest="lines", action="append", default=[], metavar="K=V", help="a further line of slurm.conf")
    add("--cosched", action="store_true", help="with the hooks and services of cosched, each cluster a domain")
    add("--schemes", type=_words, metavar="A,B", help=f"hold or yield, of each domain (default: {','.join(SCHEMES)})")
    add("--set", dest="settings", type=_setting, action="append", default=[], metavar="K=V", help="of [coscheduling]")
    add("--default-pace", dest="quick", action="store_false", help="schedule at the pace of Slurm's defaults")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if len(set(names)) != len(names) or not all(name.isascii() and name.isalpha() and name.islower() for name in names):
        raise argparse.ArgumentTypeError("names are different words of small letters with commas between")
    return names


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _setting(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier() or key in _NO_SETTINGS:
        raise argparse.ArgumentTypeError(f"{text}: not KEY=VALUE, or not a setting of cosched")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError("a number of at least 1 is needed")
    return int(text)


def _file(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise argparse.ArgumentTypeError(f"{text}: no file that can be read")
    return path
