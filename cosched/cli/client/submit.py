"""`cosched submit`: a script as a job, with or without a mate."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cosched.cli.client.batch_command import LINKS, NOT_TAKEN, BatchCommand, NotTaken, batch_system
from cosched.cli.client.by_login import logins_of, submit_by_login
from cosched.cli.client.columns import PREFIX, ColumnOptions, columns_given
from cosched.cli.client.connection import connected, connected_to, server_option
from cosched.cli.client.directives import given_options, read_directives
from cosched.cli.client.explain import tell_near_names
from cosched.cli.client.exports import exported
from cosched.cli.client.headings import CommandWithHeadings
from cosched.cli.client.jobs import DESTINATION, JOB_ANYWHERE, JOB_ID, check_destinations, group_options, pair_options
from cosched.cli.client.node_counts import NODE_COUNT, asked_nodes
from cosched.cli.client.scripts import arguments_of, read_script, tell_missing, tell_unread
from cosched.cli.client.selecting import MAX_PROPOSALS, Part, check_alone, check_selection
from cosched.cli.client.submitted import look_up, tell_cap, tell_foreign, tell_id, tell_mates
from cosched.cli.client.successors import replace
from cosched.cli.client.terms import TERMS, check_terms, of_domain, terms_options
from cosched.cli.client.time_limits import TIME_LIMIT
from cosched.cli.client.windows import (
    WHEN,
    check_windows,
    instant_of_all,
    pair_apart,
    window_options,
    windows_given,
    windows_of_all,
)
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import say
from cosched.cli.parameters import all_of
from cosched.cli.problem_options import problem_options
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.client import Client, Domain

HEADINGS = {
    "Job": ("nodes", "best", "nodelist", "column", "time_limit", "name", "hold", "directory", "export", "comment"),
    "Mate": ("mate", "pair", "pair_domain", "or_alone", "adoptable"),
    "Group": ("group", "members", "destinations"),
    "Life": ("ends_with", "fail_together", "if_requeued", "together_for", "in_place_of"),
    "Machines": ("grid", "application", "size", "strategy", "iterations", "max_proposals", "reselect"),
    "Timing": ("at", "within", "start_after", "windows", "end_together"),
}
_TO = "Submit this script there, once for each job of the group."
_PROPOSALS = "How many choices are proposed to their domains."
_RESELECT = "Wait for the start, and choose anew if it gets so much slower before, 1.25 times say."
MATES = LINKS | WHEN | TERMS | {"or_alone"}  # a link on the command line discards all of these in the script


class To(NamedTuple):
    """A script that is submitted to a domain; `part`: the machines that were chosen there.

    `columns`: what all of it runs, if its domain chooses the nodes.
    """

    domain: str
    path: str
    arguments: tuple[str, ...] = ()
    part: Part | None = None
    columns: Mapping[str, str] = MappingProxyType({})


job_options = all_of(  # those that may stand in the script as well
    click.option("-N", "--nodes", type=NODE_COUNT, metavar="N|MIN-MAX", default=1, help="How many nodes (1)."),
    click.option("--best", type=click.IntRange(min=1), metavar="N", help="Of MIN-MAX, the size for --time."),
    click.option("-w", "--nodelist", metavar="NAME,...", help="The names of nodes that it must have."),
    click.option("--column", multiple=True, metavar="NAME=TEXT", help="What else its scheduler reads of it."),
    click.option("-t", "--time", "time_limit", type=TIME_LIMIT, help="How long it may run: 12h or D-HH:MM:SS."),
    click.option("-J", "--job-name", "--name", "name", metavar="NAME", help="Its name (the script's file name)."),
    click.option("--mate", type=JOB_ANYWHERE, metavar="DOMAIN:ID", help="Its mate, submitted before."),
    pair_options,
    click.option("--adoptable", is_flag=True, help="A job of yours that names it by its id may have it."),
    group_options,
    window_options,
    terms_options,
    click.option("--end-together", is_flag=True, help="All of the group end at once, as --time has it."),
    click.option("--hold", is_flag=True, help="Do not schedule it before cosched release."),
    click.option("-D", "--chdir", "directory", metavar="DIR", default=".", help="Where it runs (here)."),
    click.option("--export", metavar="ALL|NONE|NAME[=VALUE],...", default="ALL", help="Its environment (ALL)."),
    click.option("--comment", metavar="TEXT", help="Its comment in Slurm."),
)


@click.command(cls=ColumnOptions, add_help_option=False)
@job_options
def directive(**_: Any) -> None:
    """Define the options of a `#COSCHED` line."""


class Submit(ColumnOptions, CommandWithHeadings):
    """The command, whose help has what installed schedulers read of a job beside its size."""

    def add_columns(self) -> list[str]:
        """See ColumnOptions."""
        names = super().add_columns()
        first, *others = self.headings["Job"]
        self.headings = {**self.headings, "Job": (first, *names, *others)}
        return names


@click.command(cls=Submit, headings=HEADINGS, context_settings={"allow_interspersed_args": False})
@job_options
@click.option("--to", "destinations", type=DESTINATION, multiple=True, metavar="DOMAIN:SCRIPT", help=_TO)
@click.option("--select", "grid", metavar="FILE", help="Choose machines for the application from this list.")
@problem_options(required=False)
@click.option("--iterations", type=click.IntRange(min=1), metavar="N", help="It runs so many: the wait counts, too.")
@click.option(
    "--max-proposals",
    type=click.IntRange(min=1),
    metavar="N",
    default=MAX_PROPOSALS,
    show_default=True,
    help=_PROPOSALS,
)
@click.option("--reselect", type=click.FloatRange(min=1), metavar="RATIO", help=_RESELECT)
@click.option("--in-place-of", type=JOB_ID, metavar="ID", help="Cancel that job of yours, and give this one its mates.")
@click.option("--parsable", is_flag=True, help="Print the job's id and nothing else.")
@server_option
@click.argument("script", metavar="SCRIPT", required=False)
@click.argument("arguments", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def submit(
    ctx: click.Context,
    /,
    script: str | None,
    arguments: tuple[str, ...],
    destinations: tuple[tuple[str, str], ...],
    grid: str | None,
    application: str | None,
    size: int | None,
    strategy: str,
    iterations: int | None,
    max_proposals: int,
    reselect: float | None,
    parsable: bool,
    server: str | None,
    **options: Any,
) -> None:
    """Submit a script as a job; - is standard input.

    \b
      cosched submit -N 4 -t 1:00:00 job.sh
      cosched submit --pair run7 job.sh
      cosched submit --group run7 --to intrepid:sim.sh --to mira:view.sh
      cosched submit --select grid.toml --application jacobi --size 16800 job.sh

    Its mate is a job on another domain that starts at the same moment: name it by --mate if it has been
    submitted, --adoptable, or submit both with the same --pair name, in any order. A mate that does not exist, has
    ended, belongs to another user or is not adoptable is refused, unless --or-alone lets the job start without it.

    A job may end with its mate: --ends-with its domain. With --fail-together it fails if its mate does. If a running
    mate is queued again, --if-requeued says whether it is, too. While no job of a pair or group has started, another
    job may take the place of one that was cancelled: submit it with the same name, or --in-place-of the old one.

    A group has one job on each of up to 16 domains; all start at the same moment. Submit each with the same --group
    name, --with the domains of the others. Or submit all at once, --to their domains: all are submitted, or none.
    Two domains are a pair. The jobs of either may also start apart, where all domains have slots: --start-after another
    one's, --within a time, or each in its --window; and --at a given instant. All must be submitted with the same.

    With --select, machines are chosen as by cosched select. The job gets them; on several domains, each has a job of a
    group. Others are chosen if a domain does not start it now; with --iterations, those on which it is done first.
    Without --select, its domain chooses the nodes for an --application when it is the job's turn, or its mate's.
    MAP_MACHINES and MAP_SHARES tell a job its machines and what each one gets.

    Where the scheduler changes sizes, a job with --least may run on fewer nodes than it asks for, and must follow
    changes of its size (cosched.client.adaptive). Where it chooses sizes, a job that is --moldable, or asks for a range
    of --nodes, is told its size at its start, by COSCHED_NODES. What only a scheduler of the domain's reads: --column
    NAME=TEXT.

    \b
    Options may stand in the script, in comments before its first command:
      #COSCHED --nodes=4 --time=1:00:00 --pair=run7
    Options of the command line stand before SCRIPT, and win. A time is minutes,
    M:S, H:M:S, D-H, D-H:M or D-H:M:S, or has a unit: 90s, 20m, 12h, 3d, 2w.

    If Slurm schedules, this calls sbatch: #SBATCH lines count as well, and Slurm's defaults replace those above.
    """
    arguments = arguments_of(ctx, arguments)
    check_selection(given_options(ctx), script)
    if destinations:
        check_destinations(destinations, script, server, options)
        if logins := logins_of(destinations):
            submit_by_login(destinations, logins, options, given_options(ctx), parsable)
        else:
            _submit_to(ctx, [To(domain, path) for domain, path in destinations], options, parsable)
        return
    if script is None:
        raise click.UsageError("Missing argument 'SCRIPT'.")
    columns = {} if application is None else {"application": application, "problem_size": str(size)}
    if grid is None or application is None or size is None:
        _submit_one(ctx, connected(server), To("", script, arguments, None, columns), options, parsable)
        return
    from cosched.cli.client.proposing import Terms, submit_selected

    def submit_parts(parts: Sequence[Part]) -> list[str]:
        if len(parts) == 1:
            to = To(parts[0].domain, script, arguments, parts[0], columns)
            return [_submit_one(ctx, connected_to(to.domain), to, options, parsable)]
        check_alone(grid, parts, given_options(ctx))
        chosen = [To(part.domain, script, arguments, part) for part in parts]
        group = options["group"] or f"select-{secrets.token_hex(4)}"
        return _submit_to(ctx, chosen, {**options, "group": group}, parsable)

    _, _, asked = _asked(ctx, To("", script), options, to_all=True)
    terms = Terms(max_proposals, iterations, asked["time_limit"])
    submit_selected(grid, (application, size), strategy, terms, submit_parts, reselect)


def _submit_one(
    ctx: click.Context, connection: AbstractContextManager[Client], to: To, options: Mapping[str, Any], parsable: bool
) -> str:
    """Submit a job to one domain; return its id."""
    content, given, asked = _asked(ctx, to, options)
    tell_unread(content, to.path)
    script, arguments = to.path, to.arguments
    with connection as client:
        domain = client.domain()
        given, asked = (pair_apart(options, domain) for options in (given, asked))
        system = batch_system(domain)
        if system is not None:
            if to.columns and to.part is None:
                said = f"{domain.manager} chooses the nodes of jobs of {domain.name}: choose some for it by --select"
                raise InputError("--application", None, said)
            command = BatchCommand(client, domain, system, script, content, given, arguments)
            before = given.get("in_place_of")
            accepted = command.submit() if before is None else replace(client, before, command)
            id = accepted.job_id
            tell_id(id, domain.name, parsable)
            job = look_up(client, id) if accepted.names_mate else None
        else:
            tell_foreign(content, script, domain)
            tell_missing(content, script, domain, client.server)
            specification = _specification(asked, to, domain)
            windows = windows_given(asked, domain.name, asked["members"]) if asked["group"] is not None else {}
            job = client.submit(content, arguments, windows=windows, at=asked["at"], **specification)
            id = job.id
            tell_id(id, job.domain, parsable)
        if job is not None:
            tell_mates(job, parsable)
            tell_near_names(client, job)
            tell_cap(job, domain)
    return id


def _submit_to(ctx: click.Context, destinations: Sequence[To], options: Mapping[str, Any], parsable: bool) -> list[str]:
    """Submit the jobs of a group to all their domains, or to none; return their ids."""
    from cosched.client import NotSubmitted, submit_together

    read = [(to, *_asked(ctx, to, options, to_all=True)) for to in destinations]
    group, names = options["group"] or options["pair"], [to.domain for to in destinations]
    for path, content in {to.path: content for to, content, *_ in read}.items():
        tell_unread(content, path)
    with ExitStack() as stack:
        jobs: list[tuple[Client, Any]] = []
        domains = []
        for to, content, given, asked in read:
            client = stack.enter_context(connected_to(to.domain))
            domains.append(domain := client.domain())
            if domain.name != to.domain:
                said = f"at the address of {to.domain} is domain {domain.name}: mend client.toml"
                raise InputError("--to", None, said)
            jobs.append((client, _to_submit(client, domain, to, content, given, asked)))
        asked_of = [(to.domain, asked) for to, *_, asked in read]
        when: dict[str, Any] = {"windows": windows_of_all(asked_of, options), "at": instant_of_all(asked_of)}
        for name, (_, job) in zip(names, jobs, strict=True):
            if isinstance(job, BatchCommand):  # what it refuses is said before anything is submitted
                job.as_member({"group": group, "members": [n for n in names if n != name], **when})
        try:
            submitted = submit_together(group, jobs, **when)
        except NotSubmitted as error:
            raise NotTaken(error.domain, str(error)) if error.reason == NOT_TAKEN else error from None
    for taken, domain in zip(submitted, domains, strict=True):
        tell_id(str(taken) if parsable else taken.id, domain.name, parsable)
        tell_cap(taken, domain)
    return [taken.id for taken in submitted]


def _to_submit(
    client: Client, domain: Domain, to: To, content: bytes, given: Mapping[str, Any], asked: Mapping[str, Any]
) -> BatchCommand | dict[str, Any]:
    """Return a job for `submit_together`."""
    if (system := batch_system(domain)) is not None:
        given = of_domain(given, domain.name) if given.get("ends_with") else given
        return BatchCommand(client, domain, system, to.path, content, given, to.arguments)
    tell_missing(content, to.path, domain, client.server)
    specification = of_domain(_specification(asked, to, domain), domain.name)
    job = {key: value for key, value in specification.items() if key not in LINKS}
    return {"script": content, "arguments": to.arguments, **job}


def _asked(
    ctx: click.Context, to: To, options: Mapping[str, Any], *, to_all: bool = False
) -> tuple[bytes, dict[str, Any], dict[str, Any]]:
    """Return a script, the options given for it, and all options. `to_all`: --to names the domains."""
    content = read_script(to.path)
    directives = read_directives(content, to.path, directive)
    given = _given(directives, given_options(ctx))
    if to_all:  # what parts the jobs of a group may stand in the script of each
        given |= {key: value for key, value in directives.items() if key in WHEN and key not in given}
    asked = {**options, **{key: value for key, value in given.items() if key in options or key.startswith(PREFIX)}}
    if to.part is not None:
        chosen = to.part.options(asked["export"])
        given = {key: value for key, value in given.items() if key not in ("group", "members")} | chosen
        asked |= {"group": None, "members": None, **chosen}
    if asked["nodelist"] is not None and not all(map(str.strip, asked["nodelist"].split(","))):
        raise click.UsageError("--nodelist needs names of nodes, joined by commas")
    if asked["nodelist"] is not None and "nodes" not in given:
        asked["nodes"] = len(asked["nodelist"].split(","))
    if not to_all:
        _check_mate(asked)
        check_terms(asked)
    check_windows(asked)
    return content, given, asked


def _given(script: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the options. Flags win over the script; a mate, or a size, in them replaces all of it in the script."""
    if "in_place_of" in flags:
        script = {key: value for key, value in script.items() if key not in MATES - TERMS}
    if LINKS & flags.keys():
        script = {key: value for key, value in script.items() if key not in MATES}
    if "nodes" in flags:
        script = {key: value for key, value in script.items() if key != "best"}
    return {**script, **flags}


def _check_mate(asked: Mapping[str, Any]) -> None:
    if asked["mate"] is not None and asked["pair"] is not None:
        raise click.UsageError("--mate and --pair exclude each other")
    if asked["in_place_of"] is not None and any(asked[link] for link in sorted(LINKS)):
        raise click.UsageError("--in-place-of gives the job the mates of the other one: name no others")
    if asked["adoptable"] and any(asked[link] is not None for link in ("mate", "pair", "group")):
        raise click.UsageError("--adoptable is for a job that names nobody: leave out --mate, --pair and --group")
    if asked["pair_domain"] and asked["pair"] is None:
        raise click.UsageError("--pair-domain needs --pair")
    if asked["or_alone"] and asked["mate"] is None and asked["pair"] is None and asked["group"] is None:
        raise click.UsageError("--or-alone needs --mate, --pair or --group")
    if asked["group"] is not None and (asked["mate"] is not None or asked["pair"] is not None):
        raise click.UsageError("--group excludes --mate and --pair: a group of two is a pair")
    if (asked["group"] is None) != (asked["members"] is None):
        said = "--group NAME needs --with DOMAIN,..., the domains of the others, or --to for each job"
        raise click.UsageError(f"{said}; --with needs --group")


def _specification(asked: Mapping[str, Any], to: To, domain: Domain) -> dict[str, Any]:
    """Return the arguments for `client.submit`."""
    job = {key: value for key, value in asked.items() if key not in WHEN | {"column"} and not key.startswith(PREFIX)}
    of_nodes = {} if (nodelist := job.pop("nodelist")) is None else {"nodelist": nodelist}
    if to.columns and (to.part is None or domain.maps_applications):
        of_nodes = dict(to.columns)
    elif of_nodes and to.part is not None and domain.named_nodes is False:
        say(printable(f"{domain.name} gives nodes by their number: its job must map the data again (cosched map)"))
        of_nodes = {}
    columns = columns_given(asked)
    job["nodes"], sizes = asked_nodes(job["nodes"], job.pop("best"), columns)
    job["columns"] = {**columns, **sizes, **of_nodes}
    if job.pop("comment") is not None:
        raise InputError("--comment", None, f"jobs of {domain.name} have no comments, as those of Slurm do")
    job["members"] = job["members"] or ()
    job["ends_with"] = job["ends_with"] or ()
    job["environment"] = exported(job.pop("export"), os.environ)
    job["directory"] = os.path.abspath(job["directory"])
    job["name"] = job["name"] or ("" if to.path == "-" else Path(to.path).name)
    return job
