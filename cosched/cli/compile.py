"""`cosched compile`: compiles the schedulers before they are needed."""

from __future__ import annotations

import click

from cosched.cli.output.terminal import say
from cosched.installation.extras import SCHEDULER, SIMULATOR, missing, needing


@click.command("compile", short_help="Compile the schedulers before they are needed.")
@needing(SCHEDULER)
def compile_kernels() -> None:
    """Compile the schedulers of services and, where it is installed, of the simulator, for this version and host.

    Without it whatever needs one first compiles it. What is compiled is kept in $XDG_CACHE_HOME/cosched (by default
    ~/.cache/cosched), which is that of the user: services by the unit file have /var/cache/cosched. If that cannot be
    written, it is kept in a folder of the user's in that for temporary files ($TMPDIR).
    """
    from cosched.installation.compilation import prepare_kernels
    from cosched.service.kernels import all_sets, prepare

    prepare(all_sets(), say)
    if not missing(SIMULATOR):
        from cosched_sim.warm_up import SETS

        for name, run_all in SETS.items():
            prepare_kernels(run_all, say, name)
    click.echo("the schedulers are compiled")
