"""`cosched compile`: compiles the schedulers before they are needed."""

from __future__ import annotations

from importlib.metadata import entry_points

import click

from cosched.cli.output.terminal import say
from cosched.installation.extras import SCHEDULER, needing

GROUP = "cosched.kernels"  # sets of kernels of other packages: what uses each once, by name


@click.command("compile", short_help="Compile the schedulers before they are needed.")
@needing(SCHEDULER)
def compile_all() -> None:
    """Compile the schedulers of services and, where it is installed, of the simulator, for this version and host.

    Without it whatever needs one first compiles it. What is compiled is kept in $XDG_CACHE_HOME/cosched (by default
    ~/.cache/cosched), which is that of the user: services by the unit file have /var/cache/cosched. If that cannot be
    written, it is kept in a folder of the user's in that for temporary files ($TMPDIR).
    """
    from cosched.installation.compilation import prepare_kernels, use_kernel_cache
    from cosched.schedulers.kernels import all_sets, prepare

    use_kernel_cache()
    prepare(all_sets(), say)
    for entry in entry_points(group=GROUP):
        for name, run_all in entry.load().items():
            prepare_kernels(run_all, say, name)
    click.echo("the schedulers are compiled")
