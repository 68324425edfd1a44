"""A domain answers before it has jobs launched: its peer waits for the answer to start the mate."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from cosched.core.effects import Start
from cosched.core.timers import TimerQueue
from cosched.service.clock import Clock
from cosched.service.domain.changes import Order
from cosched.service.domain.watching import Watchers
from cosched.service.metrics import Metrics
from cosched.service.outside import ServiceOutside
from cosched.service.timers import Timers


class Launches:
    """The resource manager's part, which says what it is asked to launch."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    async def order(self, order: Order) -> None:
        assert isinstance(order, Start)
        self._said.append(f"launch {order.job}")


async def test_what_waits_for_the_same_commit_is_answered_before_jobs_are_launched() -> None:
    said: list[str] = []
    failed: list[BaseException] = []
    clock, unused = Clock(), cast(Any, None)
    domain = cast(Any, SimpleNamespace(policy=SimpleNamespace(timers=TimerQueue()), clock=clock, metrics=Metrics("1")))
    runner = cast(Any, Launches(said))
    outside = ServiceOutside(domain, unused, unused, runner, Timers(clock), Watchers(), None, failed.append)
    for job in ("17", "18"):
        outside.order(Start(job))
    asyncio.get_running_loop().call_soon(said.append, "answer")
    await outside.tasks.settled()
    assert said == ["answer", "launch 17", "launch 18"]
    assert not failed
