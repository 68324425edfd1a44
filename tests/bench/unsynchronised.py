"""The command `cosched` whose service waits for no synchronisation: `python unsynchronised.py ARGUMENTS...`."""

import sys
from collections.abc import Callable
from typing import Any


def leave_out() -> None:
    """Have everything leave at once; nothing is brought to disk but by SQLite itself."""
    from cosched.service.store.durability import Durability

    def when_durable(self: Any, commit: int, act: Callable[[], None], *, hurry: bool = True) -> None:  # noqa: ARG001
        act()

    Durability.when_durable = when_durable  # type: ignore[method-assign]


if __name__ == "__main__":
    leave_out()
    from cosched.cli.main import main

    sys.argv[0] = "cosched"
    main()
