"""`cosched doctor`: what is wrong with a domain's set-up, and what to change."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from cosched.cli.client.connection import json_option
from cosched.cli.output.failures import FAILED, UNUSABLE
from cosched.cli.output.plain_text import printable
from cosched.cli.output.terminal import show_json, show_text
from cosched.version import VERSION
from cosched.words.errors import InputError
from cosched.words.quantities import count

if TYPE_CHECKING:
    from cosched_adapters.findings import Finding

COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}
TITLES = {"slurm": "Slurm", "local": "local manager", "replay": "replay manager"}
_WIDEST = max(map(len, COLOURS))


@click.command(short_help="Check a domain's set-up and say what to change.")
@click.option("--config", metavar="FILE.toml", help="The domain's configuration (that of your own service).")
@click.option("--this-end", is_flag=True, hidden=True, help="Do not ask at the other ends of logins by ssh.")
@json_option
def doctor(config: str | None, this_end: bool, as_json: bool) -> None:
    """Check the set-up of one policy domain, on the host of its service, and say what to change.

    Looks at the configuration, the resource manager and its hooks, the certificates and the peers, and asks the
    service if it runs; of your own service also where its peers are, by ssh. Changes nothing. Run it as the service's
    user.

    Exit codes: 0 all is right, 1 there are warnings, 2 there are problems, or the configuration cannot be used.
    """
    from cosched.installation.compilation import use_kernel_cache

    use_kernel_cache()  # must come before the configuration's model, which imports kernels
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the findings say it better; the same holds for our own logs
    logging.getLogger().addHandler(logging.NullHandler())
    from cosched.cli.own_service import OwnService
    from cosched.doctor import examine
    from cosched.doctor.unit import hinted
    from cosched.service.configuration import read_configuration

    if config is None and (own := OwnService()).exists:
        config = str(own.config)
    if config is None:
        raise click.UsageError("--config names the domain's file; you have no service of your own here (cosched up)")
    try:
        configuration = read_configuration(config)
    except InputError as error:
        raise hinted(error, config) from None
    name, found = configuration.domain.name, examine(configuration, config, other_ends=not this_end)
    counts = _counts(found)
    if as_json:
        show_json(_as_json(name, found))
    else:
        show_text("\n".join(_lines(name, found)))
    click.get_current_context().exit(UNUSABLE if counts["problem"] else FAILED if counts["warning"] else 0)


def _counts(found: Mapping[str, Sequence[Finding]]) -> Counter[str]:
    return Counter(finding.grade.value for group in found.values() for finding in group)


def _as_json(name: str, found: Mapping[str, Sequence[Finding]]) -> dict[str, object]:
    counts = _counts(found)
    findings = [{"group": group, **asdict(finding)} for group, of_group in found.items() for finding in of_group]
    about = {"domain": name, "version": VERSION, "problems": counts["problem"], "warnings": counts["warning"]}
    return {**about, "findings": findings}


def _lines(name: str, found: Mapping[str, Sequence[Finding]]) -> Iterator[str]:
    width = max(len(finding.subject) for group in found.values() for finding in group)
    for group, findings in found.items():
        if findings:
            yield _painted(printable(TITLES.get(group, group)), bold=True)
            for finding in findings:
                yield from _finding_lines(finding, width)
            yield ""
    yield f"{name}: {_closing(_counts(found))}"


def _finding_lines(finding: Finding, width: int) -> Iterator[str]:
    grade = finding.grade.value
    margin = " " * (2 + _WIDEST + 2 + width + 2)
    painted = _painted(f"{grade:<{_WIDEST}}", fg=COLOURS[grade])
    yield f"  {painted}  {printable(finding.subject):<{width}}  {printable(finding.found)}"
    if finding.change:
        where = "run" if finding.file == "shell" else f"in {finding.file}"
        yield printable(f"{margin}-> {finding.change}{f'; {where}:' if finding.lines else ''}")
    for line in finding.lines:
        yield printable(f"{margin}   {line}")


def _closing(counts: Counter[str]) -> str:
    said = [count(counts[grade], grade) for grade in ("problem", "warning") if counts[grade]]
    return ", ".join([*said, f"{counts['ok']} ok"]) if said else f"nothing is wrong, {counts['ok']} ok"


def _painted(text: str, *, fg: str | None = None, bold: bool | None = None) -> str:
    """Colour the text; click drops the colours unless the output is a terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=fg, bold=bold)
