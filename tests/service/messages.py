"""Hypothesis strategies for what domains send each other: the core's messages, within the protocol's limits."""

from hypothesis import strategies as st

from cosched.core import protocol
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
holds = st.just(0) | st.just(protocol.FOREVER) | st.integers(1, MAX_TIME)

pairs = st.none() | texts(128)
runs_known = st.none() | st.integers(0, 2**62)
requests = st.one_of(
    st.builds(protocol.GetMateJobId, jobs, pairs, st.none() | jobs, texts(256, 0), st.just(()), st.booleans()),
    st.builds(protocol.GetMateStatus, jobs, jobs),
    st.builds(protocol.TryStartMate, request_ids, jobs, jobs, holds, starts_at, runs_known),
    st.builds(protocol.StartJob, request_ids, jobs, jobs, generations, starts_at, runs_known),
)
leases = st.integers(1, MAX_LEASE)
offsets = st.integers(-protocol.LONGEST_OFFSET, protocol.LONGEST_OFFSET)
windows = st.tuples(offsets, offsets).map(sorted).map(tuple).filter(lambda window: window != (0, 0))
left_out = st.sets(st.from_regex(r"without\.[a-z]{1,9}", fullmatch=True), max_size=14).map(sorted).map(tuple)
proposal = protocol.ProposeGroupStart, request_ids, jobs, jobs, holds, leases, starts_at
for_now = st.none(), st.just(0), st.just(False)  # not before, only before, to be booked
for_later = slots, st.just(0) | slots, st.booleans()
slot_names = st.just("") | request_ids
group_orders = st.one_of(
    st.builds(*proposal, *for_now, slot_names, st.just(()), st.none()),
    st.builds(*proposal, *for_later, slot_names, left_out, st.none() | slots),
    st.builds(protocol.SettleGroupStart, request_ids, jobs, jobs, st.booleans(), holds, starts_at, st.just(False)),
    st.builds(protocol.SettleGroupStart, request_ids, jobs, jobs, st.just(False), holds, starts_at, st.just(True)),
    st.builds(protocol.GetProposal, request_ids, jobs, jobs),
)
said_of_mates = st.none() | times, st.booleans(), st.integers(0, MAX_GENERATION)
has_not_ended = st.none(), st.just(protocol.EndedBy.ITSELF)
not_holding = st.sampled_from(sorted(set(protocol.Status) - {protocol.Status.HOLDING}))
ended = st.sampled_from([protocol.Status.ENDED, protocol.Status.FAILED, protocol.Status.CANCELLED])
replies = st.one_of(
    st.builds(protocol.MateJobId, st.just(protocol.Found.MATE), jobs),
    st.builds(protocol.MateJobId, st.sampled_from([protocol.Found.UNSUBMITTED, protocol.Found.NO_PAIR]), st.none()),
    st.builds(protocol.MateStatus, st.sampled_from(protocol.Status), generations, *said_of_mates, *has_not_ended),
    st.builds(protocol.MateStatus, not_holding, st.just(0), *said_of_mates, *has_not_ended),
    st.builds(protocol.MateStatus, ended, st.just(0), *said_of_mates, times, st.sampled_from(protocol.EndedBy)),
    st.builds(protocol.MateTried, st.booleans(), starts_at, st.booleans()),
    st.builds(protocol.MateStarted, st.booleans(), starts_at),
)
problems = st.none() | st.sampled_from(protocol.MateProblem)
found = st.builds(protocol.MateJobId, st.just(protocol.Found.MATE), jobs, problems)
not_found = st.sampled_from([protocol.Found.UNSUBMITTED, protocol.Found.NO_PAIR])
group_replies = st.one_of(
    found | st.builds(protocol.MateJobId, not_found, st.none(), problems),
    st.builds(protocol.GroupProposed, st.sampled_from(protocol.Vote), starts_at, st.none() | slots),
    st.builds(protocol.Settled, st.booleans()),
    st.builds(protocol.ProposalOutcome, st.sampled_from(protocol.Outcome), starts_at),
)
