"""A hostile client: requests that are wrong in every way, many at a time, to both services of a domain.

    python -m tests.live.fuzzing USER ADDRESS SERVER FOLDER SEED COUNT > JSON {"METHOD CODE": how often}

It runs as that user (see other_users), so that what it gets to run, in that folder, can do no harm. One seed gives one
sequence of requests; in which order they arrive, the network decides.
"""

import asyncio
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from functools import cache
from typing import Any, NamedTuple

import grpc
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from cosched.client.connection import open_channel
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import domain_pb2, explain_pb2, job_pb2, rendezvous_pb2
from tests.live.other_users import become

AT_A_TIME = 60  # open calls of each of the two connections
ROUND = 10_000  # requests, then both connect again
SERVICES = ("CoschedulingService", "DomainService")  # at the address for peers, and at that for users
OF_BOTH = {  # services that are at both
    "FindMates": "RendezvousService", "GetPlace": "RendezvousService",
    "ExplainJobs": "ExplainService", "ExplainMates": "ExplainService",
}  # fmt: skip
TEXTS = (
    *("", " ", "\0", "\n", "a\r\nb", "../../etc/passwd", "' OR 1=1 --", "%s%n", "${HOME}", "-1", "0", "007", "1e9"),
    *("9" * 19, "9" * 400, "x" * 128, "x" * 129, "x" * 257, "x" * 40_000, "٣", "１", "²", "ﬀ", "\u202e1", "\ufeff1"),
    *("é" * 128, "e\u0301", "\U0001f4a5" * 64, "\ud7ff", "\uffff", "\x7f", "a", "b", "z", "root", "nobody", "p1", "p2"),
)
NUMBERS = (0, 1, -1, 2, 7, 255, 65536, 2**31 - 1, -(2**31), 10**9, 2**53, 2**62, 2**62 + 1, 2**63 - 1, -(2**63))
SCRIPTS = (b"#!/bin/true\n", b"", b"#!", b"#!/bin/true\0", b"\xff\xfe", b"#!/bin/true\n" + b"#" * 2**16)


class Shot(NamedTuple):
    """One request."""

    service: int
    method: str
    content: bytes
    timeout: float


class Shots:
    """An endless sequence of requests, by a seed."""

    def __init__(self, seed: int, folder: str) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._number = 0

    def __iter__(self) -> Iterator[Shot]:
        choose = self._random
        while True:
            service = choose.randrange(2)
            makers = MAKERS[service]
            [method] = choose.choices([*makers], [weight for _, weight in makers.values()])
            content = self._content(makers[method][0](self))
            timeout = choose.choice((0.001, 0.01)) if choose.random() < 0.02 else 60.0
            yield Shot(service, method, content, timeout)

    def _content(self, message: Message) -> bytes:
        kind = self._random.random()
        if kind < 0.04:
            return self._random.randbytes(self._random.randrange(300))
        if kind < 0.90:
            for _ in range(self._random.choice((0, 0, 1, 1, 2))):
                self._spoil(message)
        content = message.SerializeToString()
        if kind < 0.16:
            content = self._damaged(content)
        if kind > 0.9995:
            content += b"\x7a\xff\xff\xff\x01" + bytes(3 << 20)
        return content

    def _damaged(self, content: bytes) -> bytes:
        damaged = bytearray(content)
        for _ in range(self._random.randrange(1, 4)):
            at = self._random.randrange(len(damaged) + 1)
            what = self._random.randrange(4)
            if what == 0:
                del damaged[at:]
            elif what == 1:
                damaged[at:at] = self._random.randbytes(self._random.randrange(1, 9))
            elif what == 2:
                damaged += damaged[at:]
            elif damaged:
                damaged[at % len(damaged)] ^= 1 << self._random.randrange(8)
        return bytes(damaged)

    def _spoil(self, message: Message) -> None:
        """Give one field, at any depth, a value that it should not have, or none."""
        fields = message.DESCRIPTOR.fields
        if not fields:
            return
        field = self._random.choice(fields)
        present = getattr(message, field.name)
        if self._random.random() < 0.2:
            message.ClearField(field.name)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            present[self._text()] = self._text()
        elif field.is_repeated and field.message_type is not None:
            self._spoil(present.add())
        elif field.is_repeated:
            some = [self._value(field) for _ in range(50)]
            present.extend(self._random.choices(some, k=self._random.choice((1, 3, 50, 5000))))
        elif field.message_type is not None:
            present.SetInParent()
            self._spoil(present)
        else:
            setattr(message, field.name, self._value(field))

    def _value(self, field: FieldDescriptor) -> Any:
        if field.type == FieldDescriptor.TYPE_STRING:
            return self._text()
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self._random.choice(SCRIPTS)
        if field.type == FieldDescriptor.TYPE_BOOL:
            return self._random.random() < 0.5
        number = self._random.choice(NUMBERS)
        narrow = field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_ENUM)
        return max(-(2**31), min(2**31 - 1, number)) if narrow else number

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    # Requests as they should be, about jobs that there may be, of whomever

    def own(self) -> wire.JobRef:
        return wire.JobRef(domain="a", job_id=str(self._random.randint(1, 400)))

    def theirs(self) -> wire.JobRef:
        return wire.JobRef(domain=self._random.choice("zzzzbc"), job_id=str(self._random.randint(1, 400)))

    def id(self) -> str:
        self._number += self._random.random() < 0.9
        return f"z/{self._random.randint(1, 400)}/{self._number}"

    def change(self) -> dict[str, Any]:
        return {"request_id": self.id(), "job": self.own()}

    def order(self) -> dict[str, Any]:
        return {"request_id": self.id(), "job": self.own(), "caller": self.theirs()}

    def pair(self) -> str:
        return f"p{self._random.randint(1, 40)}"

    def mate(self) -> job_pb2.MateName:
        if self._random.random() < 0.5:
            return job_pb2.MateName(job=self.theirs())
        return job_pb2.MateName(pair=job_pb2.PairName(domain=self._random.choice("zzb"), name=self.pair()))

    def lookup(self) -> wire.GetMateJobIdRequest:
        request = wire.GetMateJobIdRequest(job=self.theirs(), owner=self._random.choice(("root", "nobody")))
        if self._random.random() < 0.5:
            request.pair = self.pair()
        else:
            request.mate.CopyFrom(self.own())
        return request

    def try_start(self) -> wire.TryStartMateRequest:
        request = wire.TryStartMateRequest(**self.order())
        if self._random.random() < 0.3:
            request.hold_until.seconds = 4_000_000_000
        elif self._random.random() < 0.3:
            request.hold_forever = True
        return request

    def group(self) -> str:
        return f"g{self._random.randint(1, 40)}"

    def member(self) -> wire.GetMemberRequest:
        names = self._random.choice((["a", "b", "z"], ["a", "z"], ["b", "z"], ["z", "a", "b"]))
        owner = self._random.choice(("root", "nobody"))
        return wire.GetMemberRequest(job=self.theirs(), group=self.group(), domains=names, owner=owner)

    def group_start(self) -> wire.ProposeGroupStartRequest:
        request = wire.ProposeGroupStartRequest(**self.order())
        request.lease.seconds = self._random.choice((1, 20, 10**9))
        if self._random.random() < 0.5:
            request.not_before.seconds = 4_000_000_000
            request.book = self._random.random() < 0.5
        return request

    def settled(self) -> wire.SettleGroupStartRequest:
        what = self._random.choice(({}, {"start": True}, {"keep": True}))
        return wire.SettleGroupStartRequest(**self.order(), **what)

    def news(self) -> wire.MemberNews:
        return wire.MemberNews(job=self.own(), caller=self.theirs(), number=self._random.randrange(1, 5))

    def search(self) -> rendezvous_pb2.FindMatesRequest:
        request = rendezvous_pb2.FindMatesRequest(job=self.own())
        if self._random.random() < 0.5:
            request.place.CopyFrom(rendezvous_pb2.Place(nodelist="n[1-4]", host="n1", port=7100))
        return request

    def submission(self) -> domain_pb2.SubmitJobRequest:
        request = domain_pb2.SubmitJobRequest(request_id=self.id(), script=SCRIPTS[0], working_directory=self._folder)
        request.time_limit.seconds = 5
        request.hold = self._random.random() < 0.7
        if self._random.random() < 0.5:
            request.mates.add().CopyFrom(self.mate())
        elif self._random.random() < 0.3:
            request.group.CopyFrom(job_pb2.GroupName(name=self.group(), domains=["b", "z"]))
        return request

    def mates(self) -> explain_pb2.MatePair:
        return explain_pb2.MatePair(job=self.own(), caller=self.theirs())


MAKERS: tuple[dict[str, tuple[Callable[[Shots], Message], int]], ...] = (  # with how often each comes
    {
        "GetMateJobId": (Shots.lookup, 10),
        "GetMateStatus": (lambda of: wire.GetMateStatusRequest(job=of.own(), caller=of.theirs()), 10),
        "TryStartMate": (Shots.try_start, 10),
        "StartJob": (lambda of: wire.StartJobRequest(**of.order(), hold_generation=1), 10),
        "GetMember": (Shots.member, 10),
        "ProposeGroupStart": (Shots.group_start, 10),
        "SettleGroupStart": (Shots.settled, 10),
        "GetProposal": (lambda of: wire.GetProposalRequest(**of.order()), 5),
        "GetPlace": (lambda of: rendezvous_pb2.GetPlaceRequest(job=of.own(), caller=of.theirs()), 5),
        "FindMates": (Shots.search, 5),
        "ExplainMates": (lambda of: explain_pb2.ExplainMatesRequest(pairs=[of.mates()]), 5),
        "TellMembers": (lambda of: wire.TellMembersRequest(news=[of.news(), of.news()]), 5),
        "CompareClocks": (lambda _: wire.CompareClocksRequest(), 2),
        "TellPresence": (lambda _: wire.TellPresenceRequest(domain="b", presence=wire.PRESENCE_SERVING), 2),
        "StopJob": (lambda of: wire.StartJobRequest(**of.order()), 1),
    },
    {
        "SubmitJob": (Shots.submission, 4),
        "CancelJob": (lambda of: domain_pb2.CancelJobRequest(**of.change()), 6),
        "LinkJobs": (lambda of: domain_pb2.LinkJobsRequest(**of.change(), mate=of.mate()), 6),
        "UnlinkJobs": (lambda of: domain_pb2.UnlinkJobsRequest(**of.change()), 6),
        "ReleaseHold": (lambda of: domain_pb2.ReleaseHoldRequest(**of.change()), 6),
        "GetJob": (lambda of: domain_pb2.GetJobRequest(job=of.own()), 12),
        "ListJobs": (lambda _: domain_pb2.ListJobsRequest(page_size=3), 4),
        "ExplainJobs": (lambda of: explain_pb2.ExplainJobsRequest(jobs=[of.own()]), 4),
        "ListNodes": (lambda _: domain_pb2.ListNodesRequest(page_size=2), 4),
        "GetDomain": (lambda _: domain_pb2.GetDomainRequest(), 4),
        "FindMates": (Shots.search, 6),
        "WatchEvents": (lambda of: domain_pb2.WatchEventsRequest(after_sequence=0, jobs=[of.own()]), 4),
    },
)


async def _fire(addresses: tuple[str, str], shots: list[Shot], answers: Counter[str]) -> None:
    """Make these calls, on new connections."""
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
        for service, address in enumerate(addresses):
            channel = await stack.enter_async_context(open_channel(grpc.aio, address, None))
            ready = cache(channel.unary_unary)  # which saves time
            queue = iter([shot for shot in shots if shot.service == service])
            for _ in range(AT_A_TIME):
                group.create_task(_worker(channel, ready, queue, answers))


async def _worker(channel: grpc.aio.Channel, ready: Any, queue: Iterator[Shot], answers: Counter[str]) -> None:
    """Send them one after the other; take the codes, without the exceptions that most answers would be."""
    for shot in queue:
        path = f"/cosched.v1.{OF_BOTH.get(shot.method, SERVICES[shot.service])}/{shot.method}"
        if shot.method == "WatchEvents":
            code = await _watch(channel.unary_stream(path)(shot.content, timeout=0.05))  # it has no end of its own
        else:
            code = await ready(path)(shot.content, timeout=shot.timeout).code()
        answers[f"{shot.method} {code.name}"] += 1


async def _watch(stream: grpc.aio.UnaryStreamCall) -> grpc.StatusCode:
    try:
        async for _ in stream:
            stream.cancel()
            break
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def _main(user: str, address: str, server: str, folder: str, seed: int, count: int) -> None:
    if user and os.geteuid() == 0:
        become(user)
    answers: Counter[str] = Counter()
    shots = iter(Shots(seed, folder))
    for begin in range(0, count, ROUND):
        await _fire((address, server), [next(shots) for _ in range(min(ROUND, count - begin))], answers)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:5], *map(int, sys.argv[5:])))
