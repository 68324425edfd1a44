"""A small client of a policy domain, for scripts, notebooks and services.

Submit a job whose mate will be submitted elsewhere with the same pair name, and see how it is doing::

    >>> from cosched.client import Client
    >>> with Client() as intrepid:  # or Client("unix:/run/cosched/intrepid.sock"), Client("login1:7701")
    ...     job = intrepid.submit("#!/bin/sh\\nsleep 60\\n", nodes=4, time_limit=3600, pair="run7")
    ...     print(job.id, job.state, job.mates[0].lookup)
    ...     print([waiting.id for waiting in intrepid.jobs(states=["queued"], paired_only=True)])
    17 queued unsubmitted
    ['17']

The same with asyncio; here the story of a job::

    >>> import asyncio
    >>> from cosched.client import AsyncClient
    >>> async def tell(job):
    ...     async with AsyncClient() as intrepid:
    ...         async for event in intrepid.events(after=0, jobs=[job], until_now=True):
    ...             print(event.at.date(), event.kind, event.text)
    >>> asyncio.run(tell(job))
    2026-01-01 submitted job 17 was submitted
"""

from cosched.client.async_client import AsyncClient
from cosched.client.client import Client
from cosched.client.connection import Tls
from cosched.client.domains import Domain, Drain, Nodes, Peer
from cosched.client.errors import ClientError, Unreachable
from cosched.client.events import Event
from cosched.client.explanations import AwaitsSuccessor, Cost, Estimate, Explanation, Outlook, Reason
from cosched.client.jobs import Group, Holds, Job, Malleable, Mate, Member, Prediction
from cosched.client.machines import Link, Machine, Machines, StartQuote
from cosched.client.places import FoundMate
from cosched.client.run_times import RunTime
from cosched.client.terms import Terms
from cosched.client.together import NotSubmitted, submit_together, submit_together_async
from cosched.client.usage import Usage

__all__ = [
    "AsyncClient",
    "AwaitsSuccessor",
    "Client",
    "ClientError",
    "Cost",
    "Domain",
    "Drain",
    "Estimate",
    "Event",
    "Explanation",
    "FoundMate",
    "Group",
    "Holds",
    "Job",
    "Link",
    "Machine",
    "Machines",
    "Malleable",
    "Mate",
    "Member",
    "Nodes",
    "NotSubmitted",
    "Outlook",
    "Peer",
    "Prediction",
    "Reason",
    "RunTime",
    "StartQuote",
    "Terms",
    "Tls",
    "Unreachable",
    "Usage",
    "submit_together",
    "submit_together_async",
]
