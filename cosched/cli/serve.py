"""`cosched serve`: the service of one policy domain."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cosched.cli.output.terminal import say
from cosched.installation.extras import SCHEDULER, need
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.schedulers.kind import SchedulerKind
    from cosched.service.configuration import Configuration

_ASIDE = "Put aside a job with which a scheduler fails: it waits until an operator releases it. May be given again."


@click.command(short_help="Run the service of one policy domain.")
@click.option("--config", required=True, metavar="FILE.toml", help="The domain's configuration.")
@click.option("--check", is_flag=True, help="Check everything that serve checks, say what it would do, and end.")
@click.option("--without-job", "aside", metavar="ID", multiple=True, help=_ASIDE)
def serve(config: str, check: bool, aside: tuple[str, ...]) -> None:
    """Serve one policy domain until SIGTERM or Ctrl-C.

    Jobs of the local manager keep running after a stop; the next start finds them again.
    """
    from cosched.installation.compilation import use_kernel_cache

    use_kernel_cache()  # must come before the configuration's model, which imports kernels
    from cosched.service.configuration import read_configuration
    from cosched.service.description import describe
    from cosched.service.preparing import prepare

    configuration = read_configuration(config)
    if not configuration.manager.schedules:
        need(SCHEDULER)
    elif aside:
        raise InputError("--without-job", None, "the jobs of this domain are a batch system's: cancel or hold it there")
    if check:
        with _of_file(config, configuration.manager.scheduler_kind):
            prepared = prepare(configuration)
        for line in describe(configuration, prepared.doubts):
            click.echo(line)
        return
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the service's own messages say it better
    _serve(configuration, config, aside)


def _serve(configuration: Configuration, source: str, aside: Collection[str]) -> None:
    import asyncio
    import logging

    from cosched.host.descriptors import raise_limit
    from cosched.service.logs.logs import configure_logs
    from cosched.version import VERSION

    raise_limit()
    configure_logs(configuration.domain.log_level, configuration.domain.name)
    logging.getLogger(__name__).info("starting cosched %s, not serving yet", VERSION)
    from cosched.service.service import Service  # slow to import
    from cosched.service.store import StoreError

    async def run() -> None:
        await Service(configuration, aside).run()

    try:
        with _of_file(source, configuration.manager.scheduler_kind):
            asyncio.run(run())
    except (StoreError, RuntimeError) as error:
        if isinstance(error, StoreError) and not error.of_disk:  # else a later start may succeed
            raise InputError(str(error.path), None, error.reason) from None
        say(f"cosched: {error}")
        sys.exit(1)


@contextmanager
def _of_file(source: str, kind: SchedulerKind) -> Iterator[None]:
    """Let InputErrors name this file first, then the section, or the file that a section names.

    A scheduler of this kind that fails before the domain serves would fail again: that is such an error, too.
    """
    try:
        yield
    except InputError as error:
        where = ".".join(str(part) for part in (error.source, error.where) if part is not None)
        raise InputError(source, where, error.reason) from None
    except Exception as error:
        from cosched.schedulers.faults import blamed

        if (fault := blamed(error, kind)) is None:
            raise
        raise InputError(source, "manager.scheduler", fault.line) from error
