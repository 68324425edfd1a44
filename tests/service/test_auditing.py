"""Refused changes on record: in sums, so that nobody fills the disk with them."""

from cosched.service.store import AuditRecord, Store
from cosched.service.store.auditing import RefusedChanges


def refused(at: int, who: str = "ann", detail: str = "no job 7") -> AuditRecord:
    return AuditRecord(at, who, "socket uid 1", "CancelJob", None, "NOT_FOUND", detail)


def kept(store: Store) -> list[tuple[int, str, str, int]]:
    return [(record.at, record.who, record.detail, record.times) for record in store.audit(100)]


def test_refusals_that_are_alike_make_one_record_a_minute(store: Store) -> None:
    changes = RefusedChanges(store)
    for number in range(1000):
        changes.add(refused(100 + number // 20, detail=f"no job {number}"), "JOB_NOT_FOUND")
    changes.add(refused(149, "bob"), "JOB_NOT_FOUND")
    changes.add(refused(149), "NOT_OWNER")
    assert kept(store) == [(100, "ann", "no job 0", 1), (149, "bob", "no job 7", 1), (149, "ann", "no job 7", 1)]
    changes.tidy(159)
    assert kept(store)[0][3] == 1
    changes.tidy(160)
    changes.add(refused(161), "JOB_NOT_FOUND")
    assert [times for *_, times in kept(store)] == [1000, 1, 1, 1]


def test_those_of_a_minute_that_is_over_are_counted_when_the_next_comes_and_at_the_end(store: Store) -> None:
    changes = RefusedChanges(store)
    for at in (100, 101, 160, 161, 162):
        changes.add(refused(at), "JOB_NOT_FOUND")
    assert [(at, times) for at, *_, times in kept(store)] == [(100, 2), (160, 1)]
    changes.close()
    changes.close()
    assert [(at, times) for at, *_, times in kept(store)] == [(100, 2), (160, 3)]
    changes.add(refused(163), "JOB_NOT_FOUND")
    assert [(at, times) for at, *_, times in kept(store)] == [(100, 2), (160, 3), (163, 1)]
