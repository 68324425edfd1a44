"""Calls that may hang: all are made at once, and each is waited for until its time-out at most."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Answer(Generic[T]):
    """What a call has returned, or the error that it has raised. Without both, it has not ended within its time-out."""

    value: T | None = None
    error: Exception | None = None


def answers(calls: Sequence[tuple[Callable[[], T], float]]) -> list[Answer[T]]:
    """Return what calls answer that are made with their time-outs, in seconds, in threads.

    Nobody waits for a late one, neither later nor when the program ends.
    """
    began = time.monotonic()
    found: list[Answer[T]] = [Answer() for _ in calls]
    threads = [threading.Thread(target=_call, args=(call, found[n]), daemon=True) for n, (call, _) in enumerate(calls)]
    for thread in threads:
        thread.start()
    for place, (thread, (_, timeout)) in enumerate(zip(threads, calls, strict=True)):
        thread.join(max(0.0, began + timeout - time.monotonic()))
        if thread.is_alive():
            found[place] = Answer()  # the thread has another one
    return found


def _call(call: Callable[[], T], answer: Answer[T]) -> None:
    try:
        answer.value = call()
    except Exception as error:  # the caller looks at it
        answer.error = error
