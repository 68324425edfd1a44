"""Time-outs that do not depend on the pace of the machine."""

import threading
from collections.abc import Callable


def threads_that_end(never: Callable[[Callable], bool]) -> type[threading.Thread]:
    """Return the class of threads that are waited for until they end, or not at all if their call never does."""

    class Thread(threading.Thread):
        def __init__(self, *, target, args, daemon):
            super().__init__(target=target, args=args, daemon=daemon)
            self._hangs = never(args[0])

        def join(self, timeout=None):
            assert timeout is not None
            super().join(0 if self._hangs else None)

    return Thread
