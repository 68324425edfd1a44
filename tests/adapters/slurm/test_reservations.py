"""Reservations: the commands, and what they print, recorded from Slurm 22.05.8 and 26.05.3."""

import re
from pathlib import Path

import pytest

from cosched_adapters.manager import ManagerError, UnavailableError, UnknownJobError
from cosched_adapters.slurm import reservations
from cosched_adapters.slurm.reservations import Fault, Reservation, ReservationError

RECORDED = Path(__file__).with_name("recorded")
NODES = ["n1", "n2"]


def recorded(name: str) -> bytes:
    return (RECORDED / f"{name}.txt").read_bytes()


def recorded_faults() -> dict[str, str]:
    """What each failed command has printed, by its name and Slurm's version."""
    blocks = re.split(r"^== (.*)\n", recorded("reservation-faults").decode(), flags=re.MULTILINE)[1:]
    return dict(zip(blocks[::2], blocks[1::2], strict=True))


def test_a_name_tells_the_job_and_the_generation_and_cannot_be_guessed() -> None:
    name = reservations.new_name("17", 3)
    assert reservations.whose(name) == ("17", 3)
    assert name != reservations.new_name("17", 3)
    assert len(name.rpartition("-")[2]) == 32


@pytest.mark.parametrize("name", ["", "maint", "cosched-17-3", "cosched-17-3-ab", "cosched-x-3-" + 32 * "a"])
def test_a_reservation_of_others_is_not_ours(name: str) -> None:
    assert reservations.whose(name) is None


def test_nodes_are_reserved_by_name_and_instants_are_in_seconds_since_1970() -> None:
    assert reservations.create("r", "ann", NODES, 100, 160) == [
        *("scontrol", "create", "reservation", "reservationname=r", "users=ann"),
        *("flags=no_hold_jobs_after,purge_comp=1", "starttime=uts100", "endtime=uts160", "nodes=n1,n2"),
    ]
    assert "starttime=now" in reservations.create("r", "ann", NODES, None, 160)
    beside = reservations.create("r", "ann", NODES, 100, 160, [reservations.OVERLAP])
    assert "flags=no_hold_jobs_after,purge_comp=1,overlap" in beside


def test_a_job_goes_into_a_reservation_and_leaves_it() -> None:
    assert reservations.put_in("17", "r") == ["scontrol", "update", "jobid=17", "reservationname=r"]
    assert reservations.begin_in("17", "r") == ["scontrol", "update", "jobid=17", "reservationname=r", "starttime=now"]
    assert reservations.take_out("17") == ["scontrol", "update", "jobid=17", "reservationname="]
    assert reservations.delete("r") == ["scontrol", "delete", "reservation=r"]
    with pytest.raises(UnknownJobError):
        reservations.put_in("17 priority=9", "r")


@pytest.mark.parametrize("word", ["", "ann users=root", "a,b", "a=b", "a\nb"])
def test_no_name_is_taken_for_another_argument(word: str) -> None:
    for name, user, node in ((word, "ann", "n1"), ("r", word, "n1"), ("r", "ann", word)):
        with pytest.raises(ManagerError, match="cannot be named"):
            reservations.create(name, user, [node], None, 160)


def test_reservations_are_read_as_slurm_shows_them() -> None:
    """The second asked for seven nodes, and 22.05 has reserved six without a word about it."""
    first, second = reservations.parse(recorded("reservations-22.05"))
    assert first == Reservation("cosched-7-1-ab", 1795383070, 1795383130, frozenset({"intrepid4", "intrepid5"}), 2)
    assert (second.count, len(second.nodes)) == (6, 6)
    assert [found.name for found in reservations.parse(recorded("reservations-26.05"))] == ["cosched-7-1-ab"]
    assert reservations.parse(recorded("no-reservations")) == []


def test_a_reservation_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ManagerError, match="showed a reservation as"):
        reservations.parse(b"ReservationName=r StartTime=tomorrow EndTime=2 NodeCnt=1\n")


def test_fewer_nodes_than_asked_for_are_a_fault() -> None:
    made = Reservation("r", 1, 2, frozenset({"n1"}), 1)
    reservations.check_count(made, ["n1"])
    for asked in (NODES, ["n2"]):
        with pytest.raises(ReservationError) as raised:
            reservations.check_count(made, asked)
        assert raised.value.fault is Fault.FEWER_NODES
    with pytest.raises(ReservationError) as raised:
        reservations.check_count(None, NODES)
    assert raised.value.fault is Fault.UNKNOWN


@pytest.mark.parametrize("version", ["22.05", "26.05"])
@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("busy", Fault.BUSY), ("move-busy", Fault.BUSY), ("overlaps", Fault.OVERLAPS), ("in-use", Fault.IN_USE),
        ("same-name", Fault.EXISTS), ("deleted-again", Fault.UNKNOWN), ("unknown-in", Fault.UNKNOWN),
        ("move-unknown", Fault.UNKNOWN), ("no-node", Fault.NO_NODE), ("no-user", Fault.FORBIDDEN),
        ("users-denied", Fault.FORBIDDEN), ("other-user", Fault.NOT_ITS_USER),
    ],
)  # fmt: skip
def test_each_fault_is_told_by_slurms_message(command: str, fault: Fault, version: str) -> None:
    error = reservations.failure("scontrol", 1, recorded_faults()[f"{command} {version}"].encode())
    assert isinstance(error, ReservationError)
    assert error.fault is fault
    assert str(error) == f"scontrol: {fault}"


def test_other_faults_are_those_of_every_command() -> None:
    finished = reservations.failure("scontrol", 1, recorded_faults()["finished-in 22.05"].encode())
    assert isinstance(finished, UnknownJobError)
    assert isinstance(reservations.failure("scontrol", 1, recorded("down-scontrol")), UnavailableError)
