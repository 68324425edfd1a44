"""A domain answers before it has jobs launched: its peer waits for the answer to start the mate."""

import asyncio
from types import SimpleNamespace

from cosched.core.effects import Start
from cosched.core.timers import TimerQueue
from cosched.service.clock import Clock
from cosched.service.domain.watching import Watchers
from cosched.service.metrics import Metrics
from cosched.service.outside import ServiceOutside
from cosched.service.timers import Timers


async def test_what_waits_for_the_same_commit_is_answered_before_jobs_are_launched() -> None:
    said: list[str] = []
    failed: list[BaseException] = []

    async def launch(order: Start) -> None:
        said.append(f"launch {order.job}")

    clock, runner = Clock(), SimpleNamespace(order=launch)
    domain = SimpleNamespace(policy=SimpleNamespace(timers=TimerQueue()), clock=clock, metrics=Metrics("1"))
    outside = ServiceOutside(domain, None, None, runner, Timers(clock), Watchers(), None, failed.append)
    for job in ("17", "18"):
        outside.order(Start(job))
    asyncio.get_running_loop().call_soon(said.append, "answer")
    await outside.tasks.settled()
    assert said == ["answer", "launch 17", "launch 18"]
    assert not failed
