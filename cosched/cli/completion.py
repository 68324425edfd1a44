"""`cosched completion`: the script with which a shell completes the commands and options of cosched."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_COSCHED_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what a shell reads to complete commands and options.

    \b
    bash:  cosched completion bash > ~/.local/share/bash-completion/completions/cosched
    zsh:   cosched completion zsh > DIR/_cosched          # DIR in fpath
    fish:  cosched completion fish > ~/.config/fish/completions/cosched.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None
    click.echo(completer(ctx.find_root().command, {}, "cosched", VARIABLE).source())
