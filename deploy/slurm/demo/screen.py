"""The demonstration's output: text, and the queues of both clusters side by side."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest

from deploy.slurm.lab import CoupledLab, Domain

WIDTH = 96  # columns at most
_HALF = 46
_SQUEUE = ("squeue", "--all", "--sort=i", "--format=%.5i %.6j %.2t %.5D %R")


class Screen:
    """Prints to standard output, with bold titles if it is a terminal that supports them."""

    def __init__(self) -> None:
        self._bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def title(self, text: str) -> None:
        """Print the title of a scene."""
        _put("", f"\x1b[1m{text}\x1b[0m" if self._bold else text, "=" * len(text))

    def say(self, text: str) -> None:
        """Print a paragraph."""
        _put("", *textwrap.wrap(" ".join(text.split()), WIDTH))

    def queues(self, lab: CoupledLab) -> None:
        """Print squeue of both clusters, and `cosched pairs` of both domains."""
        domains = list(lab)
        with ThreadPoolExecutor() as pool:
            squeues = pool.map(lambda domain: domain.cluster.run(*_SQUEUE), domains)
            pairs = pool.map(lambda domain: domain.service.run("pairs"), domains)
        _put("", *_beside([_titled(domain, "squeue", text) for domain, text in zip(domains, squeues, strict=True)]))
        for domain, text in zip(domains, pairs, strict=True):
            _put("", *_titled(domain, "cosched pairs", text))


def _titled(domain: Domain, command: str, printed: str) -> list[str]:
    return [f"{domain.name}$ {command}", *printed.splitlines()]


def _beside(columns: Sequence[Sequence[str]]) -> list[str]:
    rows = zip_longest(*columns, fillvalue="")
    return [" | ".join(f"{cell[:_HALF]:{_HALF}}" for cell in row).rstrip() for row in rows]


def _put(*lines: str) -> None:
    print("\n".join(lines), flush=True)
