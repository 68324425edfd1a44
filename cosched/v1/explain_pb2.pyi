import datetime

from cosched.v1 import coscheduling_pb2 as _coscheduling_pb2
from cosched.v1 import job_pb2 as _job_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EstimateSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ESTIMATE_SOURCE_UNSPECIFIED: _ClassVar[EstimateSource]
    ESTIMATE_SOURCE_PLAN: _ClassVar[EstimateSource]
    ESTIMATE_SOURCE_BATCH_SYSTEM: _ClassVar[EstimateSource]
    ESTIMATE_SOURCE_SLOT: _ClassVar[EstimateSource]
    ESTIMATE_SOURCE_HAS_NODES: _ClassVar[EstimateSource]

class Absence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ABSENCE_UNSPECIFIED: _ClassVar[Absence]
    ABSENCE_UNREACHABLE: _ClassVar[Absence]
    ABSENCE_AWAY: _ClassVar[Absence]
    ABSENCE_BUSY: _ClassVar[Absence]
    ABSENCE_REFUSES: _ClassVar[Absence]
ESTIMATE_SOURCE_UNSPECIFIED: EstimateSource
ESTIMATE_SOURCE_PLAN: EstimateSource
ESTIMATE_SOURCE_BATCH_SYSTEM: EstimateSource
ESTIMATE_SOURCE_SLOT: EstimateSource
ESTIMATE_SOURCE_HAS_NODES: EstimateSource
ABSENCE_UNSPECIFIED: Absence
ABSENCE_UNREACHABLE: Absence
ABSENCE_AWAY: Absence
ABSENCE_BUSY: Absence
ABSENCE_REFUSES: Absence

class ExplainJobsRequest(_message.Message):
    __slots__ = ("jobs",)
    JOBS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.JobRef]
    def __init__(self, jobs: _Optional[_Iterable[_Union[_coscheduling_pb2.JobRef, _Mapping]]] = ...) -> None: ...

class ExplainJobsResponse(_message.Message):
    __slots__ = ("explanations",)
    EXPLANATIONS_FIELD_NUMBER: _ClassVar[int]
    explanations: _containers.RepeatedCompositeFieldContainer[Explanation]
    def __init__(self, explanations: _Optional[_Iterable[_Union[Explanation, _Mapping]]] = ...) -> None: ...

class ExplainMatesRequest(_message.Message):
    __slots__ = ("pairs",)
    PAIRS_FIELD_NUMBER: _ClassVar[int]
    pairs: _containers.RepeatedCompositeFieldContainer[MatePair]
    def __init__(self, pairs: _Optional[_Iterable[_Union[MatePair, _Mapping]]] = ...) -> None: ...

class MatePair(_message.Message):
    __slots__ = ("job", "caller", "sought")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    SOUGHT_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    caller: _coscheduling_pb2.JobRef
    sought: SoughtName
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., caller: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., sought: _Optional[_Union[SoughtName, _Mapping]] = ...) -> None: ...

class SoughtName(_message.Message):
    __slots__ = ("owner", "name", "of_group")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OF_GROUP_FIELD_NUMBER: _ClassVar[int]
    owner: str
    name: str
    of_group: bool
    def __init__(self, owner: _Optional[str] = ..., name: _Optional[str] = ..., of_group: _Optional[bool] = ...) -> None: ...

class ExplainMatesResponse(_message.Message):
    __slots__ = ("outlooks",)
    OUTLOOKS_FIELD_NUMBER: _ClassVar[int]
    outlooks: _containers.RepeatedCompositeFieldContainer[Outlook]
    def __init__(self, outlooks: _Optional[_Iterable[_Union[Outlook, _Mapping]]] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("job", "mates", "together")
    JOB_FIELD_NUMBER: _ClassVar[int]
    MATES_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FIELD_NUMBER: _ClassVar[int]
    job: Outlook
    mates: _containers.RepeatedCompositeFieldContainer[Outlook]
    together: Estimate
    def __init__(self, job: _Optional[_Union[Outlook, _Mapping]] = ..., mates: _Optional[_Iterable[_Union[Outlook, _Mapping]]] = ..., together: _Optional[_Union[Estimate, _Mapping]] = ...) -> None: ...

class Outlook(_message.Message):
    __slots__ = ("job", "state", "start", "position", "queued", "reason", "problem", "submitted_at", "started_at", "ended_at", "nodes", "cost", "position_at", "near", "size", "starting", "gap", "successor")
    JOB_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    POSITION_AT_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STARTING_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    state: _job_pb2.JobState
    start: Estimate
    position: int
    queued: int
    reason: Reason
    problem: str
    submitted_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    nodes: int
    cost: Cost
    position_at: _timestamp_pb2.Timestamp
    near: str
    size: str
    starting: bool
    gap: _duration_pb2.Duration
    successor: AwaitsSuccessor
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., state: _Optional[_Union[_job_pb2.JobState, str]] = ..., start: _Optional[_Union[Estimate, _Mapping]] = ..., position: _Optional[int] = ..., queued: _Optional[int] = ..., reason: _Optional[_Union[Reason, _Mapping]] = ..., problem: _Optional[str] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., nodes: _Optional[int] = ..., cost: _Optional[_Union[Cost, _Mapping]] = ..., position_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., near: _Optional[str] = ..., size: _Optional[str] = ..., starting: _Optional[bool] = ..., gap: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., successor: _Optional[_Union[AwaitsSuccessor, _Mapping]] = ...) -> None: ...

class Cost(_message.Message):
    __slots__ = ("held", "booked", "pushed", "slots")
    HELD_FIELD_NUMBER: _ClassVar[int]
    BOOKED_FIELD_NUMBER: _ClassVar[int]
    PUSHED_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    held: int
    booked: int
    pushed: int
    slots: int
    def __init__(self, held: _Optional[int] = ..., booked: _Optional[int] = ..., pushed: _Optional[int] = ..., slots: _Optional[int] = ...) -> None: ...

class Estimate(_message.Message):
    __slots__ = ("at", "made_at", "source", "accuracy", "nodes")
    AT_FIELD_NUMBER: _ClassVar[int]
    MADE_AT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ACCURACY_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    made_at: _timestamp_pb2.Timestamp
    source: EstimateSource
    accuracy: Accuracy
    nodes: int
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., made_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source: _Optional[_Union[EstimateSource, str]] = ..., accuracy: _Optional[_Union[Accuracy, _Mapping]] = ..., nodes: _Optional[int] = ...) -> None: ...

class Accuracy(_message.Message):
    __slots__ = ("earliest", "latest", "within", "of")
    EARLIEST_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    WITHIN_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    earliest: _duration_pb2.Duration
    latest: _duration_pb2.Duration
    within: int
    of: int
    def __init__(self, earliest: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., latest: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., within: _Optional[int] = ..., of: _Optional[int] = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("nodes_busy", "others_first", "on_hold", "asks_mate", "mate_waits", "mate_unsubmitted", "no_such_mate", "holds_capped", "peer_absent", "domain_drains", "has_slot", "member_lost", "is_cancelled", "batch_system_says", "holds_over_budget", "instant_passed", "window_ahead", "scheduler_says", "awaits_successor", "text", "change")
    NODES_BUSY_FIELD_NUMBER: _ClassVar[int]
    OTHERS_FIRST_FIELD_NUMBER: _ClassVar[int]
    ON_HOLD_FIELD_NUMBER: _ClassVar[int]
    ASKS_MATE_FIELD_NUMBER: _ClassVar[int]
    MATE_WAITS_FIELD_NUMBER: _ClassVar[int]
    MATE_UNSUBMITTED_FIELD_NUMBER: _ClassVar[int]
    NO_SUCH_MATE_FIELD_NUMBER: _ClassVar[int]
    HOLDS_CAPPED_FIELD_NUMBER: _ClassVar[int]
    PEER_ABSENT_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_DRAINS_FIELD_NUMBER: _ClassVar[int]
    HAS_SLOT_FIELD_NUMBER: _ClassVar[int]
    MEMBER_LOST_FIELD_NUMBER: _ClassVar[int]
    IS_CANCELLED_FIELD_NUMBER: _ClassVar[int]
    BATCH_SYSTEM_SAYS_FIELD_NUMBER: _ClassVar[int]
    HOLDS_OVER_BUDGET_FIELD_NUMBER: _ClassVar[int]
    INSTANT_PASSED_FIELD_NUMBER: _ClassVar[int]
    WINDOW_AHEAD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_SAYS_FIELD_NUMBER: _ClassVar[int]
    AWAITS_SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    nodes_busy: NodesBusy
    others_first: OthersFirst
    on_hold: OnHold
    asks_mate: AsksMate
    mate_waits: MateWaits
    mate_unsubmitted: MateUnsubmitted
    no_such_mate: NoSuchMate
    holds_capped: HoldsCapped
    peer_absent: PeerAbsent
    domain_drains: DomainDrains
    has_slot: HasSlot
    member_lost: MemberLost
    is_cancelled: IsCancelled
    batch_system_says: BatchSystemSays
    holds_over_budget: HoldsOverBudget
    instant_passed: InstantPassed
    window_ahead: WindowAhead
    scheduler_says: SchedulerSays
    awaits_successor: AwaitsSuccessor
    text: str
    change: str
    def __init__(self, nodes_busy: _Optional[_Union[NodesBusy, _Mapping]] = ..., others_first: _Optional[_Union[OthersFirst, _Mapping]] = ..., on_hold: _Optional[_Union[OnHold, _Mapping]] = ..., asks_mate: _Optional[_Union[AsksMate, _Mapping]] = ..., mate_waits: _Optional[_Union[MateWaits, _Mapping]] = ..., mate_unsubmitted: _Optional[_Union[MateUnsubmitted, _Mapping]] = ..., no_such_mate: _Optional[_Union[NoSuchMate, _Mapping]] = ..., holds_capped: _Optional[_Union[HoldsCapped, _Mapping]] = ..., peer_absent: _Optional[_Union[PeerAbsent, _Mapping]] = ..., domain_drains: _Optional[_Union[DomainDrains, _Mapping]] = ..., has_slot: _Optional[_Union[HasSlot, _Mapping]] = ..., member_lost: _Optional[_Union[MemberLost, _Mapping]] = ..., is_cancelled: _Optional[_Union[IsCancelled, _Mapping]] = ..., batch_system_says: _Optional[_Union[BatchSystemSays, _Mapping]] = ..., holds_over_budget: _Optional[_Union[HoldsOverBudget, _Mapping]] = ..., instant_passed: _Optional[_Union[InstantPassed, _Mapping]] = ..., window_ahead: _Optional[_Union[WindowAhead, _Mapping]] = ..., scheduler_says: _Optional[_Union[SchedulerSays, _Mapping]] = ..., awaits_successor: _Optional[_Union[AwaitsSuccessor, _Mapping]] = ..., text: _Optional[str] = ..., change: _Optional[str] = ...) -> None: ...

class NodesBusy(_message.Message):
    __slots__ = ("required", "available")
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    required: int
    available: int
    def __init__(self, required: _Optional[int] = ..., available: _Optional[int] = ...) -> None: ...

class OthersFirst(_message.Message):
    __slots__ = ("required", "available", "ahead")
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    required: int
    available: int
    ahead: int
    def __init__(self, required: _Optional[int] = ..., available: _Optional[int] = ..., ahead: _Optional[int] = ...) -> None: ...

class SchedulerSays(_message.Message):
    __slots__ = ("scheduler", "word")
    SCHEDULER_FIELD_NUMBER: _ClassVar[int]
    WORD_FIELD_NUMBER: _ClassVar[int]
    scheduler: str
    word: str
    def __init__(self, scheduler: _Optional[str] = ..., word: _Optional[str] = ...) -> None: ...

class OnHold(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AsksMate(_message.Message):
    __slots__ = ("domains",)
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    domains: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, domains: _Optional[_Iterable[str]] = ...) -> None: ...

class MateWaits(_message.Message):
    __slots__ = ("mate", "held", "held_until")
    MATE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    HELD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    mate: _coscheduling_pb2.JobRef
    held: int
    held_until: _timestamp_pb2.Timestamp
    def __init__(self, mate: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., held: _Optional[int] = ..., held_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MateUnsubmitted(_message.Message):
    __slots__ = ("domain", "pair", "held")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    PAIR_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    domain: str
    pair: str
    held: int
    def __init__(self, domain: _Optional[str] = ..., pair: _Optional[str] = ..., held: _Optional[int] = ...) -> None: ...

class NoSuchMate(_message.Message):
    __slots__ = ("domain", "job_id", "pair", "problem")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    PAIR_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    domain: str
    job_id: str
    pair: str
    problem: _coscheduling_pb2.MateProblem
    def __init__(self, domain: _Optional[str] = ..., job_id: _Optional[str] = ..., pair: _Optional[str] = ..., problem: _Optional[_Union[_coscheduling_pb2.MateProblem, str]] = ...) -> None: ...

class HoldsCapped(_message.Message):
    __slots__ = ("required", "held", "allowed")
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    required: int
    held: int
    allowed: int
    def __init__(self, required: _Optional[int] = ..., held: _Optional[int] = ..., allowed: _Optional[int] = ...) -> None: ...

class HoldsOverBudget(_message.Message):
    __slots__ = ("account", "used", "allowed")
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    USED_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    account: str
    used: int
    allowed: int
    def __init__(self, account: _Optional[str] = ..., used: _Optional[int] = ..., allowed: _Optional[int] = ...) -> None: ...

class PeerAbsent(_message.Message):
    __slots__ = ("domain", "absence", "until", "held")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    ABSENCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    domain: str
    absence: Absence
    until: _timestamp_pb2.Timestamp
    held: int
    def __init__(self, domain: _Optional[str] = ..., absence: _Optional[_Union[Absence, str]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., held: _Optional[int] = ...) -> None: ...

class DomainDrains(_message.Message):
    __slots__ = ("domain", "until")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    domain: str
    until: _timestamp_pb2.Timestamp
    def __init__(self, domain: _Optional[str] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class HasSlot(_message.Message):
    __slots__ = ("at",)
    AT_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MemberLost(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class AwaitsSuccessor(_message.Message):
    __slots__ = ("until", "then", "group")
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    until: _timestamp_pb2.Timestamp
    then: str
    group: str
    def __init__(self, until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., then: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class WindowAhead(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class InstantPassed(_message.Message):
    __slots__ = ("group",)
    GROUP_FIELD_NUMBER: _ClassVar[int]
    group: str
    def __init__(self, group: _Optional[str] = ...) -> None: ...

class IsCancelled(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BatchSystemSays(_message.Message):
    __slots__ = ("word",)
    WORD_FIELD_NUMBER: _ClassVar[int]
    word: str
    def __init__(self, word: _Optional[str] = ...) -> None: ...
