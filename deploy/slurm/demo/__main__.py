"""The command: plays the scenes; exit status 0 only if everything has happened as promised."""

from __future__ import annotations

import signal
import sys
import time

from cosched.client import ClientError
from deploy.slurm.demo import scenes
from deploy.slurm.demo.screen import Screen
from deploy.slurm.demo.stage import Stage
from deploy.slurm.lab import CoupledLab, LabError


def main() -> int:
    """Play the scenes; return the exit status."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the clusters are taken down
    began = time.monotonic()
    screen = Screen()
    try:
        outcomes = _play(screen)
    except (LabError, ClientError) as error:
        print(f"slurm-demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return _sum_up(screen, outcomes, time.monotonic() - began)


def _play(screen: Screen) -> list[scenes.Outcome]:
    screen.say("Starting two Slurm clusters of this host's, each with cosched's hooks and its service ...")
    lab = CoupledLab(
        schemes=("hold", "yield"),
        options={"nodes": scenes.NODES},
        release_interval=scenes.RELEASE_INTERVAL,
        max_held_fraction=1,
        backoff=2,
    )
    with lab:
        stage = Stage(lab, screen)
        return [play(stage) for play in (scenes.held, scenes.yielded, scenes.deadlock)]


def _sum_up(screen: Screen, outcomes: list[scenes.Outcome], seconds: float) -> int:
    pairs = [pair for outcome in outcomes for pair in outcome.pairs]
    missing = [what for outcome in outcomes for what in outcome.missing]
    for what in missing:
        print(f"slurm-demo: {what}", file=sys.stderr)
    if missing:
        return 1
    skew = max(pair.skew for pair in pairs) * 1000
    screen.say(f"""A pair was held, a pair yielded, a deadlock was broken: all {len(pairs)} pairs started together, at
        most {skew:.1f} ms apart ({seconds:.0f} s). To try it: deploy/slurm/lab/lab run --cosched -- bash""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
