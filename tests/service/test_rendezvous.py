"""Where jobs are is told to their mates, for as long as they run, and to nobody else."""

from typing import Any

import grpc
import pytest

from cosched.core.settings import CoschedulingSettings, Scheme
from cosched.service.api.operations import Operations
from cosched.service.api.rendezvous_api import Rendezvous, RendezvousApi
from cosched.service.api.requests import Requests
from cosched.service.wire.callers import Caller
from cosched.v1.coscheduling_pb2 import MATE_STATUS_RUNNING, MATE_STATUS_UNKNOWN, JobRef
from cosched.v1.rendezvous_pb2 import FindMatesRequest, GetPlaceRequest, Place
from tests.service.world import World, domain_a

PLACE = Place(nodelist="n[1-2]", host="n1", port=7100)


class RefusedError(Exception):
    """The call was refused."""


class Context:
    async def abort(self, code: grpc.StatusCode, message: str, _: Any) -> None:
        raise RefusedError(f"{code.name}: {message}")


class Side:
    """The API of one domain of the world; its peers are the other sides."""

    def __init__(self, world: World, name: str, sides: dict[str, "Side"]) -> None:
        self.sides, self.user, self.domain = sides, "u", world.nodes[name].domain
        operations = Operations(self.domain, Requests(self.domain), None, None, None, [], 9, 9)
        serving = Rendezvous(self.domain, operations, self, (7100, 7199))
        self.api = RendezvousApi(serving, lambda _: Caller(None, self.user, False, "test"), lambda *_: None)

    async def place(self, peer: str, question: GetPlaceRequest) -> Any:
        return await self.sides[peer].api.GetPlace(question, Context())

    async def find(self, place: Place | None = None) -> Any:
        [mate] = (await self.api.FindMates(FindMatesRequest(job=JobRef(job_id="1"), place=place), Context())).mates
        return mate


@pytest.fixture
def world(tmp_path):
    """Job 1 of a and job 1 of b are mates and run; job 2 of b is alone and runs, too."""
    made = domain_a(tmp_path, CoschedulingSettings(scheme=Scheme.HOLD)).world
    for name, job, pair in (("a", 1, "p"), ("b", 1, "p"), ("b", 2, None)):
        made.nodes[name].submit(job, 2, 1000, pair)
    made.run(1050)
    return made


@pytest.fixture
def sides(world):
    made: dict[str, Side] = {}
    made.update({name: Side(world, name, made) for name in "ab"})
    return made


async def test_a_mate_is_found_once_it_has_said_where_it_is_and_until_it_ends(world, sides):
    before = await sides["a"].find(PLACE)
    assert (before.job.domain, before.job.job_id, before.status) == ("b", "1", MATE_STATUS_RUNNING)
    assert not before.HasField("place")
    assert (before.ports.low, before.ports.high) == (7100, 7199)
    assert (await sides["b"].find()).place == PLACE
    world.nodes["a"].restart()
    sides["a"] = Side(world, "a", sides)
    assert (await sides["b"].find()).place == PLACE
    world.run(2100)
    assert not (await sides["b"].find()).HasField("place")
    with pytest.raises(RefusedError, match="FAILED_PRECONDITION: job 1 is COMPLETED: only a job that runs can be"):
        await sides["a"].find(PLACE)


async def test_nobody_else_is_told(sides):
    await sides["a"].find(PLACE)
    sides["a"].user = "eve"
    with pytest.raises(RefusedError, match="PERMISSION_DENIED: only u and operators may ask for the mates of job 1"):
        await sides["a"].find()
    other = GetPlaceRequest(job=JobRef(domain="a", job_id="1"), caller=JobRef(domain="b", job_id="2"))
    told = await sides["b"].place("a", other)
    assert (told.status, told.HasField("place"), told.HasField("ports")) == (MATE_STATUS_UNKNOWN, False, False)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (Place(host=""), "place.host: must have 1 to 256 characters"),
        (Place(host="n\n1"), "place.host: has a character that is not printable"),
        (Place(host="n1", port=70000), "place.port: is not between 0 and 65535"),
        (Place(host="n1", nodelist="n" * 40000), "place.nodelist: must have 0 to 32768 characters"),
    ],
)
async def test_a_place_that_is_none_is_refused(sides, place, said):
    with pytest.raises(RefusedError, match=f"INVALID_ARGUMENT: {said}"):
        await sides["a"].find(place)
