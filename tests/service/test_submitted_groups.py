"""Groups in submissions: one clear line for each mistake."""

import pytest

from cosched.core.protocol import Window, named_group, named_mate
from cosched.service.wire.fields import FieldError
from cosched.service.wire.submissions import read_submission
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.v1.job_pb2 import GroupName as WireGroupName
from cosched.v1.job_pb2 import MateName as WireMateName
from cosched.v1.job_pb2 import PairName


def submission(name: str, *domains: str, **more) -> SubmitJobRequest:
    return SubmitJobRequest(script=b"#!/bin/sh\n", group=WireGroupName(name=name, domains=domains), **more)


def parted(*windows: tuple[str, int, int]) -> SubmitJobRequest:
    """A submission to c, of a group with a and b."""
    message = submission("g", "a", "b")
    for domain, earliest, latest in windows:
        window = message.group.windows.add(domain=domain)
        window.earliest.seconds, window.latest.seconds = earliest, latest
    return message


def test_windows_are_read_and_two_jobs_with_a_window_are_a_group():
    named = read_submission(parted(("c", 0, 60), ("b", 0, 0), ("a", -5, 5))).named
    assert named == named_group("g", ("a", "b"), windows=(Window("a", -5, 5), Window("c", 0, 60)))
    two = submission("g", "a")
    two.group.windows.add(domain="b").latest.seconds = 1
    assert read_submission(two).named == named_group("g", ("a",), windows=(Window("b", 0, 1),))


def at(seconds: int, *domains: str, nanos: int = 0) -> SubmitJobRequest:
    message = submission("g", *domains)
    message.group.at.seconds, message.group.at.nanos = seconds, nanos
    return message


def test_a_given_instant_is_read_and_two_jobs_with_one_are_a_group():
    assert read_submission(at(1_790_000_000, "a")).named == named_group("g", ("a",), at=1_790_000_000)


FRACTION = parted(("a", 0, 1))
FRACTION.group.windows[0].latest.nanos = 1


def test_a_group_is_read_and_one_of_two_domains_is_a_pair():
    assert read_submission(submission("g", "mira", "eureka")).named == named_group("g", ("eureka", "mira"))
    assert read_submission(submission("g", "b", "c", or_alone=True)).named == named_group("g", ("b", "c"), True)
    assert read_submission(submission("g", "mira")).named == named_mate("mira", "g")
    assert len(read_submission(submission("g", *(f"d{i}" for i in range(15)))).named.others) == 15


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (submission("g"), ".domains[0]: is missing: name the domains of the other members"),
        (submission("g", "a", "b", "a"), ".domains[2]: is named twice: a group has one job on each domain"),
        (submission("g", "a", "b/c"), ".domains[1]: is not a domain name (1 to 64 of A-Z a-z 0-9 _ . -)"),
        (
            submission("g", *(f"d{i}" for i in range(16))),
            ".domains[15]: is one too many: a group has at most 16 members, with the job itself",
        ),
        (parted(("a", 0, 1), ("a", 0, 1)), ".windows[1].domain: is named twice"),
        (parted(("c", 0, 1), ("d", 0, 1)), ".windows: 'd' is not a domain of the group"),
        (parted(("a", 2, 1)), ".windows: 'a' has a window that ends before it begins: 2..1 s"),
        (parted(("a", 0, 604801)), ".windows: 'a' has a window more than 7 days from the others: 0..604801 s"),
        (
            parted(("a", 0, 1), ("b", 0, 1), ("c", 0, 1)),
            ".windows: 'a' has a window, as all others have: they count from a job without one",
        ),
        (FRACTION, ".windows[0]: is not of whole seconds"),
        (at(1_790_000_000, "a", nanos=5), ".at: is not of whole seconds"),
        (at(-1, "a"), ".at: is not a time between 0 and 253402300799 seconds after 1970"),
        (submission("g h", "a", "b"), ".name: the name of a group is 1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"),
        (submission("a:17", "a", "b"), ".name: a name that ends in a number alone is taken for a job: add a letter"),
        (
            submission("g", "a", "b", mates=[WireMateName(pair=PairName(name="p"))]),
            ": excludes mates: a job has a mate, or is in a group that names all its members",
        ),
    ],
)
def test_a_group_that_cannot_be_is_refused_by_its_field(message, said):
    with pytest.raises(FieldError) as refused:
        read_submission(message)
    assert str(refused.value) == f"group{said}"
