"""Options of the commands that replay: domains, pairs, seed."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from cosched.schedulers.kind import SchedulerKind

KINDS = "(keys of schedulers)"  # where they are in a text
WIDTH = 49  # characters of a key's help
OVERRUNS = click.Choice(["extend", "kill"])
GROUP_SIZE_HELP = "With --pair-fraction: this share of all jobs, in groups of N to M, on domains drawn at random."

Command = TypeVar("Command", bound=Callable[..., Any])

DOMAIN_HELP = f"""\b
Keys of a domain, in --domain NAME,key=value,... and [[domain]] tables:
  trace                job log, plain or gzip, bzip2, xz, zstd; - is
                       standard input;
                       generated:MODEL/jobs=N/days=D/utilisation=U/seed=S
                       draws jobs (MODEL: intrepid, eureka; all values
                       are optional; the default seed is that of --seed);
                       of the model /sessions=N/swing=S/large=S/spread=F
                       vary: jobs in a row, daily cycle, share on half the
                       machine or more, factor of the run times' spread;
                       generated:APPLICATION/jobs=N/beta=B/ge_p4=S/seed=S
                       draws jobs for fluid scheduling on 64 nodes (stencil,
                       gauss, sequences, mixed);
                       generated:lublin/jobs=N/nodes=N/alpha=A/seed=S/...
                       those of Lublin and Feitelson's model;
                       fitted:FILE/jobs=N/nodes=N/load=L/seed=S draws jobs
                       like those of a log; generated:sdsc/... like those
                       of SDSC's SP2
  format               swf, accounting, sacct, csv (by its first line)
  skip_bad             skip up to so many lines in error (0: refuse)
  columns              of a log without a header, in parentheses, as
                       (JobID,Submit,Elapsed,NNodes)
  timezone             zone of times that name none, as Europe/Berlin (UTC)
  runs                 of requeued jobs: last, all (last)
  partition_limit      time that jobs without a limit request, by
                       partition or queue, as (batch=24h,*=7d) (the
                       longest in the log)
  nodes                size of the machine (stated by the trace)
  procs_per_node       processors of the trace that make a node (1)
  cut                  only jobs submitted in START..END, as 0..20d
  load                 scale the arrivals to this offered load
  scale                multiply the times between arrivals by this
  shift                submit all jobs later by this time, as 3d, or
                       earlier, as -12h
  start                move the log: its first job is submitted then
  estimates            multiply the excess of requested times over run
                       times by this; 0: exact estimates (1)
{KINDS}
  scheme               what a job does that is ready before its mate:
                       hold, yield; off: no coscheduling here; meet:
                       yield,mate_budget=0.5,slots=on (hold)
  mate_budget          by which share of its wait the first job may be
                       delayed by jobs whose mates wait; at most 10 (0)
  slots                whether pairs agree on instants to start, and
                       never hold: on, off (off)
  release_interval     longest hold; 0: no limit (20m)
  release_jitter       how much longer a hold may last, as a share (0.25)
  release_order        wanted, last (wanted)
  max_held_fraction    share of the nodes that may be held at once (0.5)
  max_yields           yields of a job before it holds; 0: no limit (0)
  yield_boost          increase of a job's score at each yield (0)
  on_peer_unreachable  what a ready job does then: start, hold, yield (start)
  peer_grace           how long an absent peer is waited for first (0)
  mate_patience        how long to wait for a mate that nobody submits
                       (no limit)
  on_member_lost       what a job does whose mate was cancelled or failed
                       before both started: start, wait, cancel (start)
  successor_patience   how long it waits first for another job in the
                       place of one that was cancelled (0)
  successor_hold       ... with nodes (0)
  on_member_requeued   what a running job does whose mate is queued again:
                       continue, requeue (start together again), end
                       (continue)
  max_requeues         how often a pair is queued again because of that (3)"""


class DomainCommand(click.Command):
    """A command whose epilog has the keys of a domain, also those of all kinds of schedulers, once it is read."""

    @property
    def epilog(self) -> str | None:
        """See click.Command."""
        return self._epilog and self._epilog.replace(KINDS, "\n".join(_keys_of_kinds()))

    @epilog.setter
    def epilog(self, text: str | None) -> None:
        self._epilog = text


def _keys_of_kinds() -> Iterator[str]:
    from cosched.installation.extras import PAPERS, install_command
    from cosched.schedulers.loading import DEFAULT, OF_PAPERS, kinds

    others = [kind for kind in kinds().values() if kind.name != DEFAULT]
    yield from _keys("", kinds()[DEFAULT])
    missing = ", ".join(name for name in OF_PAPERS if name not in kinds())
    more = [f"{missing}: {install_command(PAPERS)}"] if missing else []
    purposes = "; ".join([DEFAULT, *(f"{kind.name}: {kind.purpose}" for kind in others), *more])
    yield from _key("scheduler", f"{purposes} ({DEFAULT})")
    for kind in others:
        yield from _keys(f"{kind.name}: ", kind)


def _keys(prefix: str, kind: SchedulerKind) -> Iterator[str]:
    for name, field in kind.keys.model_fields.items():
        if name not in kind.only_live:
            yield from _key(name, f"{prefix}{field.description or ''}")


def _key(name: str, text: str) -> Iterator[str]:
    first, *rest = textwrap.wrap(text, WIDTH, break_long_words=False)
    yield f"  {name:20} {first}"
    yield from (f"{'':23}{line}" for line in rest)


def replay_options(*, pairs_file: bool) -> Callable[[Command], Command]:
    """Add the options that say what to replay, for a command that passes them on to `replay_settings`."""
    options = [
        click.option("--domain", "domains", multiple=True, metavar="NAME,KEY=VALUE,...", help="A policy domain."),
        click.option("--pairs", metavar="FILE", help="Pairs: a CSV whose columns are domains, its rows job ids."),
        click.option("--pair-window", metavar="TIME", help="Pair jobs of two domains submitted within it."),
        click.option("--pair-fraction", metavar="SHARE", help="Pair this share of the first domain's jobs."),
        click.option("--group-size", metavar="N[-M]", help=GROUP_SIZE_HELP),
        click.option("--seed", metavar="N", help="Seed of drawn traces and pairs (0)."),
        click.option("--overrun", type=OVERRUNS, help="Jobs that ran past their request: extend it, or kill them."),
        click.option("--config", metavar="FILE.toml", help="The same settings in a file; flags win."),
    ]

    def add(command: Command) -> Command:
        for option in reversed(options if pairs_file else options[:1] + options[2:]):
            command = option(command)
        return command

    return add
