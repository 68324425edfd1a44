"""All jobs of a group are submitted, or none is: what is undone, and what is said of it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from cosched.client import ClientError, NotSubmitted, Unreachable, submit_together, submit_together_async


class Fake:
    """A client of a domain that may fail."""

    def __init__(self, name: str, fails: BaseException | None = None, keeps: bool = False) -> None:
        self.name, self.fails, self.keeps = name, fails, keeps
        self.submitted: list[dict[str, Any]] = []
        self.cancelled: list[str] = []

    def domain(self) -> Any:
        return SimpleNamespace(name=self.name)

    def submit(self, **arguments: Any) -> str:
        if self.fails is not None:
            raise self.fails
        self.submitted.append(arguments)
        return f"{self.name}:1"

    def cancel(self, job: str) -> None:
        if self.keeps:
            raise ClientError("JOB_STATE", "it runs")
        self.cancelled.append(job)


class AsyncFake:
    """The same client, for asyncio."""

    def __init__(self, fake: Fake) -> None:
        self.fake = fake

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            return getattr(self.fake, name)(*arguments, **named)

        return call


def at_once(*clients: Any) -> list[Any]:
    return submit_together("run7", [(client, {"script": "#!/bin/sh\n"}) for client in clients])


def by_asyncio(*clients: Any) -> list[Any]:
    jobs: list[Any] = [(AsyncFake(client), {"script": "#!/bin/sh\n"}) for client in clients]
    return asyncio.run(submit_together_async("run7", jobs))


@pytest.fixture(params=[at_once, by_asyncio])
def together(request):
    return request.param


def test_each_names_the_others(together):
    a, b, c = Fake("a"), Fake("b"), Fake("c")
    assert together(a, b, c) == ["a:1", "b:1", "c:1"]
    assert [(job["group"], job["members"]) for job in b.submitted] == [("run7", ["a", "c"])]


@pytest.mark.parametrize(
    ("clients", "said"),
    [
        ((Fake("a", ClientError("X", "no")), Fake("b")), "a: no; nothing was submitted"),
        ((Fake("a"), Fake("b", ClientError("X", "no"))), "b: no; a:1 was cancelled"),
        (
            (Fake("a"), Fake("b", keeps=True), Fake("c", ClientError("X", "no"))),
            "c: no; a:1 was cancelled; b:1 could not be cancelled: it runs: cancel it",
        ),
        (
            (Fake("a"), Fake("b", Unreachable("UNAVAILABLE", "gone"))),
            "b: gone; b may have taken its job of run7 all the same: cancel it there; a:1 was cancelled",
        ),
    ],
)
def test_what_is_taken_is_undone_if_one_refuses(together, clients, said):
    with pytest.raises(NotSubmitted) as refused:
        together(*clients)
    assert str(refused.value) == said


def test_an_interruption_undoes_as_well(together):
    a = Fake("a")
    with pytest.raises(KeyboardInterrupt):
        together(a, Fake("b", KeyboardInterrupt()))
    assert a.cancelled == ["a:1"]


@pytest.mark.parametrize("names", [("a",), ("a", "b", "a"), ("a", "b", "b"), tuple(f"d{i}" for i in range(17))])
def test_domains_that_make_no_group_get_nothing(together, names):
    clients = [Fake(name) for name in names]
    with pytest.raises(ValueError, match="group run7: "):
        together(*clients)
    assert not any(client.submitted for client in clients)
