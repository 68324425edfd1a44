"""When Python looks for garbage in cycles: not while a command starts, and never among what it has loaded.

Loading makes some 200,000 objects, of which hardly any is garbage, and Python would look through them hundreds of
times. That takes a tenth to a fifth of a command's start.
"""

from __future__ import annotations

import atexit
import gc
from typing import Any

STARTING = 250_000  # objects; most commands have ended with fewer
_usual = gc.get_threshold()


def look_later() -> None:
    """Look for the first time after STARTING objects, or after `look_from_now_on`, and not at exit."""
    if _usually in gc.callbacks:
        return
    gc.callbacks.append(_usually)
    gc.set_threshold(STARTING, *_usual[1:])
    # At exit Python would look among the compiler's objects, too, which wastes a third of a second.
    atexit.register(gc.freeze)


def look_from_now_on() -> None:
    """Look as often as usual, but never among the objects that are there now: they stay."""
    gc.freeze()
    _usually()


def _usually(*_: Any) -> None:
    gc.set_threshold(*_usual)
