import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MateLookup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MATE_LOOKUP_UNSPECIFIED: _ClassVar[MateLookup]
    MATE_LOOKUP_FOUND: _ClassVar[MateLookup]
    MATE_LOOKUP_UNSUBMITTED: _ClassVar[MateLookup]
    MATE_LOOKUP_NO_PAIR: _ClassVar[MateLookup]

class MateProblem(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MATE_PROBLEM_UNSPECIFIED: _ClassVar[MateProblem]
    MATE_PROBLEM_UNKNOWN: _ClassVar[MateProblem]
    MATE_PROBLEM_NOT_WAITING: _ClassVar[MateProblem]
    MATE_PROBLEM_RUNNING: _ClassVar[MateProblem]
    MATE_PROBLEM_COMPLETED: _ClassVar[MateProblem]
    MATE_PROBLEM_FAILED: _ClassVar[MateProblem]
    MATE_PROBLEM_CANCELLED: _ClassVar[MateProblem]
    MATE_PROBLEM_OTHER_OWNER: _ClassVar[MateProblem]
    MATE_PROBLEM_TAKEN: _ClassVar[MateProblem]
    MATE_PROBLEM_NAMES_PAIR: _ClassVar[MateProblem]
    MATE_PROBLEM_UNLINKED: _ClassVar[MateProblem]
    MATE_PROBLEM_OFF: _ClassVar[MateProblem]
    MATE_PROBLEM_OTHER_DOMAINS: _ClassVar[MateProblem]
    MATE_PROBLEM_NO_GROUPS: _ClassVar[MateProblem]
    MATE_PROBLEM_OTHER_WINDOWS: _ClassVar[MateProblem]
    MATE_PROBLEM_NO_SLOTS: _ClassVar[MateProblem]
    MATE_PROBLEM_NO_DOMAIN: _ClassVar[MateProblem]
    MATE_PROBLEM_CIRCLE: _ClassVar[MateProblem]
    MATE_PROBLEM_ARRAY: _ClassVar[MateProblem]
    MATE_PROBLEM_HETEROGENEOUS: _ClassVar[MateProblem]

class EndedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENDED_BY_UNSPECIFIED: _ClassVar[EndedBy]
    ENDED_BY_ITSELF: _ClassVar[EndedBy]
    ENDED_BY_OWNER: _ClassVar[EndedBy]
    ENDED_BY_OWNER_FOR_GOOD: _ClassVar[EndedBy]
    ENDED_BY_MATE: _ClassVar[EndedBy]

class MateStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MATE_STATUS_UNSPECIFIED: _ClassVar[MateStatus]
    MATE_STATUS_HOLDING: _ClassVar[MateStatus]
    MATE_STATUS_QUEUING: _ClassVar[MateStatus]
    MATE_STATUS_UNSUBMITTED: _ClassVar[MateStatus]
    MATE_STATUS_RUNNING: _ClassVar[MateStatus]
    MATE_STATUS_ENDED: _ClassVar[MateStatus]
    MATE_STATUS_CANCELLED: _ClassVar[MateStatus]
    MATE_STATUS_FAILED: _ClassVar[MateStatus]
    MATE_STATUS_UNKNOWN: _ClassVar[MateStatus]

class GroupVote(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GROUP_VOTE_UNSPECIFIED: _ClassVar[GroupVote]
    GROUP_VOTE_BOOKED: _ClassVar[GroupVote]
    GROUP_VOTE_BUSY: _ClassVar[GroupVote]
    GROUP_VOTE_NO: _ClassVar[GroupVote]

class ProposalOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROPOSAL_OUTCOME_UNSPECIFIED: _ClassVar[ProposalOutcome]
    PROPOSAL_OUTCOME_STARTED: _ClassVar[ProposalOutcome]
    PROPOSAL_OUTCOME_DROPPED: _ClassVar[ProposalOutcome]
    PROPOSAL_OUTCOME_UNKNOWN: _ClassVar[ProposalOutcome]

class Presence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRESENCE_UNSPECIFIED: _ClassVar[Presence]
    PRESENCE_SERVING: _ClassVar[Presence]
    PRESENCE_DRAINING: _ClassVar[Presence]
    PRESENCE_LEAVING: _ClassVar[Presence]
MATE_LOOKUP_UNSPECIFIED: MateLookup
MATE_LOOKUP_FOUND: MateLookup
MATE_LOOKUP_UNSUBMITTED: MateLookup
MATE_LOOKUP_NO_PAIR: MateLookup
MATE_PROBLEM_UNSPECIFIED: MateProblem
MATE_PROBLEM_UNKNOWN: MateProblem
MATE_PROBLEM_NOT_WAITING: MateProblem
MATE_PROBLEM_RUNNING: MateProblem
MATE_PROBLEM_COMPLETED: MateProblem
MATE_PROBLEM_FAILED: MateProblem
MATE_PROBLEM_CANCELLED: MateProblem
MATE_PROBLEM_OTHER_OWNER: MateProblem
MATE_PROBLEM_TAKEN: MateProblem
MATE_PROBLEM_NAMES_PAIR: MateProblem
MATE_PROBLEM_UNLINKED: MateProblem
MATE_PROBLEM_OFF: MateProblem
MATE_PROBLEM_OTHER_DOMAINS: MateProblem
MATE_PROBLEM_NO_GROUPS: MateProblem
MATE_PROBLEM_OTHER_WINDOWS: MateProblem
MATE_PROBLEM_NO_SLOTS: MateProblem
MATE_PROBLEM_NO_DOMAIN: MateProblem
MATE_PROBLEM_CIRCLE: MateProblem
MATE_PROBLEM_ARRAY: MateProblem
MATE_PROBLEM_HETEROGENEOUS: MateProblem
ENDED_BY_UNSPECIFIED: EndedBy
ENDED_BY_ITSELF: EndedBy
ENDED_BY_OWNER: EndedBy
ENDED_BY_OWNER_FOR_GOOD: EndedBy
ENDED_BY_MATE: EndedBy
MATE_STATUS_UNSPECIFIED: MateStatus
MATE_STATUS_HOLDING: MateStatus
MATE_STATUS_QUEUING: MateStatus
MATE_STATUS_UNSUBMITTED: MateStatus
MATE_STATUS_RUNNING: MateStatus
MATE_STATUS_ENDED: MateStatus
MATE_STATUS_CANCELLED: MateStatus
MATE_STATUS_FAILED: MateStatus
MATE_STATUS_UNKNOWN: MateStatus
GROUP_VOTE_UNSPECIFIED: GroupVote
GROUP_VOTE_BOOKED: GroupVote
GROUP_VOTE_BUSY: GroupVote
GROUP_VOTE_NO: GroupVote
PROPOSAL_OUTCOME_UNSPECIFIED: ProposalOutcome
PROPOSAL_OUTCOME_STARTED: ProposalOutcome
PROPOSAL_OUTCOME_DROPPED: ProposalOutcome
PROPOSAL_OUTCOME_UNKNOWN: ProposalOutcome
PRESENCE_UNSPECIFIED: Presence
PRESENCE_SERVING: Presence
PRESENCE_DRAINING: Presence
PRESENCE_LEAVING: Presence

class JobRef(_message.Message):
    __slots__ = ("domain", "job_id")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    domain: str
    job_id: str
    def __init__(self, domain: _Optional[str] = ..., job_id: _Optional[str] = ...) -> None: ...

class GetMateJobIdRequest(_message.Message):
    __slots__ = ("job", "pair", "mate", "owner", "ends_with", "fail_together")
    JOB_FIELD_NUMBER: _ClassVar[int]
    PAIR_FIELD_NUMBER: _ClassVar[int]
    MATE_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    ENDS_WITH_FIELD_NUMBER: _ClassVar[int]
    FAIL_TOGETHER_FIELD_NUMBER: _ClassVar[int]
    job: JobRef
    pair: str
    mate: JobRef
    owner: str
    ends_with: _containers.RepeatedScalarFieldContainer[str]
    fail_together: bool
    def __init__(self, job: _Optional[_Union[JobRef, _Mapping]] = ..., pair: _Optional[str] = ..., mate: _Optional[_Union[JobRef, _Mapping]] = ..., owner: _Optional[str] = ..., ends_with: _Optional[_Iterable[str]] = ..., fail_together: _Optional[bool] = ...) -> None: ...

class GetMateJobIdResponse(_message.Message):
    __slots__ = ("lookup", "mate", "problem")
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    MATE_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    lookup: MateLookup
    mate: JobRef
    problem: MateProblem
    def __init__(self, lookup: _Optional[_Union[MateLookup, str]] = ..., mate: _Optional[_Union[JobRef, _Mapping]] = ..., problem: _Optional[_Union[MateProblem, str]] = ...) -> None: ...

class GetMateStatusRequest(_message.Message):
    __slots__ = ("job", "caller")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    job: JobRef
    caller: JobRef
    def __init__(self, job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ...) -> None: ...

class GetMateStatusResponse(_message.Message):
    __slots__ = ("status", "hold_generation", "started_at", "may_book", "runs", "ended_at", "ended_by", "began_at", "serving_since")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    HOLD_GENERATION_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    MAY_BOOK_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_FIELD_NUMBER: _ClassVar[int]
    SERVING_SINCE_FIELD_NUMBER: _ClassVar[int]
    status: MateStatus
    hold_generation: int
    started_at: _timestamp_pb2.Timestamp
    may_book: bool
    runs: int
    ended_at: _timestamp_pb2.Timestamp
    ended_by: EndedBy
    began_at: _timestamp_pb2.Timestamp
    serving_since: _timestamp_pb2.Timestamp
    def __init__(self, status: _Optional[_Union[MateStatus, str]] = ..., hold_generation: _Optional[int] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., may_book: _Optional[bool] = ..., runs: _Optional[int] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_by: _Optional[_Union[EndedBy, str]] = ..., began_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., serving_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TryStartMateRequest(_message.Message):
    __slots__ = ("request_id", "job", "caller", "hold_until", "hold_forever", "runs", "start_at")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    HOLD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    HOLD_FOREVER_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: JobRef
    caller: JobRef
    hold_until: _timestamp_pb2.Timestamp
    hold_forever: bool
    runs: int
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ..., hold_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hold_forever: _Optional[bool] = ..., runs: _Optional[int] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class TryStartMateResponse(_message.Message):
    __slots__ = ("started", "may_book", "start_at")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    MAY_BOOK_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    started: bool
    may_book: bool
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, started: _Optional[bool] = ..., may_book: _Optional[bool] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class StartJobRequest(_message.Message):
    __slots__ = ("request_id", "job", "caller", "hold_generation", "runs", "start_at")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    HOLD_GENERATION_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: JobRef
    caller: JobRef
    hold_generation: int
    runs: int
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ..., hold_generation: _Optional[int] = ..., runs: _Optional[int] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class StartJobResponse(_message.Message):
    __slots__ = ("started", "start_at")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    started: bool
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, started: _Optional[bool] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("domain", "earliest", "latest")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    EARLIEST_FIELD_NUMBER: _ClassVar[int]
    LATEST_FIELD_NUMBER: _ClassVar[int]
    domain: str
    earliest: _duration_pb2.Duration
    latest: _duration_pb2.Duration
    def __init__(self, domain: _Optional[str] = ..., earliest: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., latest: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GetMemberRequest(_message.Message):
    __slots__ = ("job", "group", "domains", "owner", "windows", "at", "member", "ends_with", "fail_together")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    ENDS_WITH_FIELD_NUMBER: _ClassVar[int]
    FAIL_TOGETHER_FIELD_NUMBER: _ClassVar[int]
    job: JobRef
    group: str
    domains: _containers.RepeatedScalarFieldContainer[str]
    owner: str
    windows: _containers.RepeatedCompositeFieldContainer[Window]
    at: _timestamp_pb2.Timestamp
    member: JobRef
    ends_with: _containers.RepeatedScalarFieldContainer[str]
    fail_together: bool
    def __init__(self, job: _Optional[_Union[JobRef, _Mapping]] = ..., group: _Optional[str] = ..., domains: _Optional[_Iterable[str]] = ..., owner: _Optional[str] = ..., windows: _Optional[_Iterable[_Union[Window, _Mapping]]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., member: _Optional[_Union[JobRef, _Mapping]] = ..., ends_with: _Optional[_Iterable[str]] = ..., fail_together: _Optional[bool] = ...) -> None: ...

class GetMemberResponse(_message.Message):
    __slots__ = ("lookup", "member", "problem")
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    lookup: MateLookup
    member: JobRef
    problem: MateProblem
    def __init__(self, lookup: _Optional[_Union[MateLookup, str]] = ..., member: _Optional[_Union[JobRef, _Mapping]] = ..., problem: _Optional[_Union[MateProblem, str]] = ...) -> None: ...

class ProposeGroupStartRequest(_message.Message):
    __slots__ = ("request_id", "job", "caller", "hold_until", "hold_forever", "lease", "not_before", "only_before", "book", "start_at", "slot_name", "without", "instant")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    HOLD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    HOLD_FOREVER_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ONLY_BEFORE_FIELD_NUMBER: _ClassVar[int]
    BOOK_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    SLOT_NAME_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_FIELD_NUMBER: _ClassVar[int]
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: JobRef
    caller: JobRef
    hold_until: _timestamp_pb2.Timestamp
    hold_forever: bool
    lease: _duration_pb2.Duration
    not_before: _timestamp_pb2.Timestamp
    only_before: _timestamp_pb2.Timestamp
    book: bool
    start_at: _timestamp_pb2.Timestamp
    slot_name: str
    without: _containers.RepeatedScalarFieldContainer[str]
    instant: _timestamp_pb2.Timestamp
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ..., hold_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hold_forever: _Optional[bool] = ..., lease: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., only_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., book: _Optional[bool] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., slot_name: _Optional[str] = ..., without: _Optional[_Iterable[str]] = ..., instant: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ProposeGroupStartResponse(_message.Message):
    __slots__ = ("vote", "earliest", "start_at")
    VOTE_FIELD_NUMBER: _ClassVar[int]
    EARLIEST_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    vote: GroupVote
    earliest: _timestamp_pb2.Timestamp
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, vote: _Optional[_Union[GroupVote, str]] = ..., earliest: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SettleGroupStartRequest(_message.Message):
    __slots__ = ("request_id", "job", "caller", "hold_until", "hold_forever", "start", "keep", "start_at")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    HOLD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    HOLD_FOREVER_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: JobRef
    caller: JobRef
    hold_until: _timestamp_pb2.Timestamp
    hold_forever: bool
    start: bool
    keep: bool
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ..., hold_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hold_forever: _Optional[bool] = ..., start: _Optional[bool] = ..., keep: _Optional[bool] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SettleGroupStartResponse(_message.Message):
    __slots__ = ("current",)
    CURRENT_FIELD_NUMBER: _ClassVar[int]
    current: bool
    def __init__(self, current: _Optional[bool] = ...) -> None: ...

class GetProposalRequest(_message.Message):
    __slots__ = ("request_id", "job", "caller")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: JobRef
    caller: JobRef
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ...) -> None: ...

class GetProposalResponse(_message.Message):
    __slots__ = ("outcome", "start_at")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    START_AT_FIELD_NUMBER: _ClassVar[int]
    outcome: ProposalOutcome
    start_at: _timestamp_pb2.Timestamp
    def __init__(self, outcome: _Optional[_Union[ProposalOutcome, str]] = ..., start_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MemberNews(_message.Message):
    __slots__ = ("job", "caller", "number")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    job: JobRef
    caller: JobRef
    number: int
    def __init__(self, job: _Optional[_Union[JobRef, _Mapping]] = ..., caller: _Optional[_Union[JobRef, _Mapping]] = ..., number: _Optional[int] = ...) -> None: ...

class TellMembersRequest(_message.Message):
    __slots__ = ("news",)
    NEWS_FIELD_NUMBER: _ClassVar[int]
    news: _containers.RepeatedCompositeFieldContainer[MemberNews]
    def __init__(self, news: _Optional[_Iterable[_Union[MemberNews, _Mapping]]] = ...) -> None: ...

class TellMembersResponse(_message.Message):
    __slots__ = ("heard",)
    HEARD_FIELD_NUMBER: _ClassVar[int]
    heard: _containers.RepeatedScalarFieldContainer[bool]
    def __init__(self, heard: _Optional[_Iterable[bool]] = ...) -> None: ...

class CompareClocksRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CompareClocksResponse(_message.Message):
    __slots__ = ("received_at", "sent_at", "takes_groups", "waits_for_starts")
    RECEIVED_AT_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    TAKES_GROUPS_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_STARTS_FIELD_NUMBER: _ClassVar[int]
    received_at: _timestamp_pb2.Timestamp
    sent_at: _timestamp_pb2.Timestamp
    takes_groups: bool
    waits_for_starts: bool
    def __init__(self, received_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., takes_groups: _Optional[bool] = ..., waits_for_starts: _Optional[bool] = ...) -> None: ...

class TellPresenceRequest(_message.Message):
    __slots__ = ("domain", "presence", "expected")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    domain: str
    presence: Presence
    expected: _duration_pb2.Duration
    def __init__(self, domain: _Optional[str] = ..., presence: _Optional[_Union[Presence, str]] = ..., expected: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TellPresenceResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
