"""How much each viewer may ask of the page: requests in a minute, and watchers at a time."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cosched.service.configuration_sections import Page

MAX_KEPT = 10_000  # viewers whose requests are counted
MINUTE = 60.0


class TooManyError(Exception):
    """A limit has been reached; `str()` says which, and what to do."""

    def __init__(self, said: str, wait: int) -> None:
        """`wait`: seconds after which to try again."""
        super().__init__(said)
        self.wait = wait


class Limits:
    """The limits of one page."""

    def __init__(self, page: Page, clock: Callable[[], float] = time.monotonic) -> None:
        self._page = page
        self._clock = clock
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests of the last minute, and when
        self._watchers: Counter[str] = Counter()

    def count_request(self, viewer: str) -> None:
        """Count a request; TooManyError. What was asked fades away evenly within a minute."""
        now, most = self._clock(), float(self._page.max_requests_per_minute)
        spent, at = self._spent.pop(viewer, (0.0, now))
        spent = max(0.0, spent - (now - at) * most / MINUTE)
        if spent + 1 > most:
            self._spent[viewer] = spent, now
            raise TooManyError(f"more than {most:.0f} requests in a minute: wait some seconds, and reload", 5)
        self._spent[viewer] = spent + 1, now
        if len(self._spent) > MAX_KEPT:
            self._spent.popitem(last=False)

    @contextmanager
    def watching(self, viewer: str) -> Iterator[None]:
        """Count a watcher for the time of the block; TooManyError."""
        page = self._page
        if self._watchers[viewer] >= page.max_watchers_per_user:
            raise TooManyError(f"{page.max_watchers_per_user} pages of yours are live: close some", 60)
        if self._watchers.total() >= page.max_watchers:
            raise TooManyError("too many pages are live at present: this one is as of its last reload", 60)
        self._watchers[viewer] += 1
        try:
            yield
        finally:
            self._watchers -= Counter([viewer])  # which forgets those that have none left
