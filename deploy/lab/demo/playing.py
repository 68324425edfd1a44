"""Plays the scenes; exit status 0 only if everything has happened as promised."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from cosched.client import ClientError
from deploy.lab.demo import scenes
from deploy.lab.demo.screen import Screen
from deploy.lab.demo.stage import Stage
from deploy.lab.waiting import LabError

Open = Callable[[Screen], AbstractContextManager[Stage]]


def play(command: str, open_stage: Open, hint: str) -> int:
    """Play the scenes for `make COMMAND`; return the exit status. `hint`: what to try next."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the clusters are taken down
    began = time.monotonic()
    screen = Screen()
    try:
        with open_stage(screen) as stage:
            outcomes = [scene(stage) for scene in (scenes.held, scenes.yielded, scenes.deadlock)]
    except (LabError, ClientError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    missing = [what for outcome in outcomes for what in outcome.missing]
    for what in missing:
        print(f"{command}: {what}", file=sys.stderr)
    if not missing:
        _sum_up(screen, outcomes, time.monotonic() - began, hint)
    return 1 if missing else 0


def _sum_up(screen: Screen, outcomes: list[scenes.Outcome], seconds: float, hint: str) -> None:
    pairs = [pair for outcome in outcomes for pair in outcome.pairs]
    skew = max(pair.skew for pair in pairs) * 1000
    screen.say(f"""A pair was held, a pair yielded, a deadlock was broken: all {len(pairs)} pairs started together, at
        most {skew:.1f} ms apart ({seconds:.0f} s). To try it: {hint}""")
