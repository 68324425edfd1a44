"""Hypothesis strategies for what domains send each other: the core's messages, within the protocol's limits."""

from hypothesis import strategies as st

from cosched.core.protocol import (
    FOREVER,
    LONGEST_OFFSET,
    EndedBy,
    Found,
    GetMateJobId,
    GetMateStatus,
    GetProposal,
    GroupProposed,
    MateJobId,
    MateProblem,
    MateStarted,
    MateStatus,
    MateTried,
    Outcome,
    ProposalOutcome,
    ProposeGroupStart,
    Settled,
    SettleGroupStart,
    StartJob,
    Status,
    TryStartMate,
    Vote,
)
from cosched.service.wire.fields import MAX_GENERATION, MAX_TIME
from cosched.service.wire.group_messages import MAX_LEASE

domains = st.from_regex(r"[A-Za-z0-9_.-]{1,64}", fullmatch=True)


def texts(most: int, least: int = 1) -> st.SearchStrategy[str]:
    printable = st.characters(exclude_categories=["C", "Z"], include_characters=" ").filter(str.isprintable)
    return st.text(printable, min_size=least, max_size=most)


jobs = texts(128)
request_ids = texts(256) | st.builds("{}/{}/{}".format, domains, jobs, st.integers(1, 10**9))
generations = st.integers(1, MAX_GENERATION)
times = st.integers(0, MAX_TIME)
instants = st.floats(2**24, MAX_TIME, allow_nan=False)  # whose nanoseconds have room in a float's fraction
starts_at = st.none() | instants
slots = st.integers(1, MAX_TIME)
holds = st.just(0) | st.just(FOREVER) | st.integers(1, MAX_TIME)

runs_known = st.none() | st.integers(0, 2**62)
requests = st.one_of(
    st.builds(GetMateJobId, jobs, st.none() | texts(128), st.none() | jobs, texts(256, 0), st.just(()), st.booleans()),
    st.builds(GetMateStatus, jobs, jobs),
    st.builds(TryStartMate, request_ids, jobs, jobs, holds, starts_at, runs_known),
    st.builds(StartJob, request_ids, jobs, jobs, generations, starts_at, runs_known),
)
leases = st.integers(1, MAX_LEASE)
offsets = st.integers(-LONGEST_OFFSET, LONGEST_OFFSET)
windows = st.tuples(offsets, offsets).map(sorted).map(tuple).filter(lambda window: window != (0, 0))
left_out = st.sets(st.from_regex(r"without\.[a-z]{1,9}", fullmatch=True), max_size=14).map(sorted).map(tuple)
for_now = {"not_before": st.none(), "only_before": st.just(0), "book": st.just(False), "without": st.just(())}
for_now["instant"] = st.none()
for_later = {"not_before": slots, "only_before": st.just(0) | slots, "book": st.booleans(), "without": left_out}
for_later["instant"] = st.none() | slots
slot_names = st.just("") | request_ids
group_orders = st.one_of(
    st.builds(ProposeGroupStart, request_ids, jobs, jobs, holds, leases, starts_at, slot=slot_names, **for_now),
    st.builds(ProposeGroupStart, request_ids, jobs, jobs, holds, leases, starts_at, slot=slot_names, **for_later),
    st.builds(SettleGroupStart, request_ids, jobs, jobs, st.booleans(), holds, starts_at, st.just(False)),
    st.builds(SettleGroupStart, request_ids, jobs, jobs, st.just(False), holds, starts_at, st.just(True)),
    st.builds(GetProposal, request_ids, jobs, jobs),
)
said_of_mates = st.none() | times, st.booleans(), st.integers(0, MAX_GENERATION)
has_not_ended = st.none(), st.just(EndedBy.ITSELF)
ended = st.sampled_from([Status.ENDED, Status.FAILED, Status.CANCELLED])
replies = st.one_of(
    st.builds(MateJobId, st.just(Found.MATE), jobs),
    st.builds(MateJobId, st.sampled_from([Found.UNSUBMITTED, Found.NO_PAIR]), st.none()),
    st.builds(MateStatus, st.sampled_from(Status), generations, *said_of_mates, *has_not_ended),
    st.builds(
        MateStatus, st.sampled_from(sorted(set(Status) - {Status.HOLDING})), st.just(0), *said_of_mates, *has_not_ended
    ),
    st.builds(MateStatus, ended, st.just(0), *said_of_mates, times, st.sampled_from(EndedBy)),
    st.builds(MateTried, st.booleans(), starts_at, st.booleans()),
    st.builds(MateStarted, st.booleans(), starts_at),
)
found = st.builds(MateJobId, st.just(Found.MATE), jobs, st.none() | st.sampled_from(MateProblem))
not_found = st.sampled_from([Found.UNSUBMITTED, Found.NO_PAIR])
group_replies = st.one_of(
    found | st.builds(MateJobId, not_found, st.none(), st.none() | st.sampled_from(MateProblem)),
    st.builds(GroupProposed, st.sampled_from(Vote), starts_at, st.none() | slots),
    st.builds(Settled, st.booleans()),
    st.builds(ProposalOutcome, st.sampled_from(Outcome), starts_at),
)
