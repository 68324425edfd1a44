"""What is said of reservations that are left over."""

from cosched_adapters.findings import Grade
from cosched_adapters.slurm.doctor.reservations import check_reservations
from cosched_adapters.slurm.reservations import new_name

R, S = new_name("17", 1), new_name("18", 2)


def test_nothing_is_said_where_none_is_left_over() -> None:
    assert check_reservations({}, serving=True).grade is Grade.OK


def test_an_empty_one_is_deleted() -> None:
    finding = check_reservations({R: []}, serving=True)
    assert (finding.grade, finding.change, finding.file) == (Grade.WARNING, "remove them", "shell")
    assert finding.lines == (f"scontrol delete reservation={R}",)


def test_jobs_are_taken_out_before_their_reservations_are_deleted() -> None:
    finding = check_reservations({R: ["17", "4"], S: []}, serving=False)
    assert finding.grade is Grade.PROBLEM
    assert finding.found.endswith("stuck there: 17, 4")
    assert finding.change.startswith("start the service")
    assert finding.lines == (
        "scontrol update jobid=17 reservationname=",
        "scontrol update jobid=4 reservationname=",
        f"scontrol delete reservation={R}",
        f"scontrol delete reservation={S}",
    )
