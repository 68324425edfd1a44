import datetime

from cosched.v1 import coscheduling_pb2 as _coscheduling_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_QUEUED: _ClassVar[JobState]
    JOB_STATE_READY: _ClassVar[JobState]
    JOB_STATE_HOLDING: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_COMPLETED: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_CANCELLED: _ClassVar[JobState]
    JOB_STATE_UNKNOWN: _ClassVar[JobState]

class IfRequeued(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IF_REQUEUED_UNSPECIFIED: _ClassVar[IfRequeued]
    IF_REQUEUED_CONTINUE: _ClassVar[IfRequeued]
    IF_REQUEUED_REQUEUE: _ClassVar[IfRequeued]
    IF_REQUEUED_END: _ClassVar[IfRequeued]
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_QUEUED: JobState
JOB_STATE_READY: JobState
JOB_STATE_HOLDING: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_COMPLETED: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_CANCELLED: JobState
JOB_STATE_UNKNOWN: JobState
IF_REQUEUED_UNSPECIFIED: IfRequeued
IF_REQUEUED_CONTINUE: IfRequeued
IF_REQUEUED_REQUEUE: IfRequeued
IF_REQUEUED_END: IfRequeued

class Job(_message.Message):
    __slots__ = ("ref", "name", "owner", "state", "reason", "nodes", "node_names", "time_limit", "submitted_at", "ready_at", "started_at", "ended_at", "exit_code", "mates", "holds", "slot", "group", "account", "malleable", "expected_end", "latest_end", "columns", "adoptable", "starting")
    class ColumnsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REF_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    NODE_NAMES_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    READY_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    MATES_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ACCOUNT_FIELD_NUMBER: _ClassVar[int]
    MALLEABLE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_END_FIELD_NUMBER: _ClassVar[int]
    LATEST_END_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ADOPTABLE_FIELD_NUMBER: _ClassVar[int]
    STARTING_FIELD_NUMBER: _ClassVar[int]
    ref: _coscheduling_pb2.JobRef
    name: str
    owner: str
    state: JobState
    reason: str
    nodes: int
    node_names: _containers.RepeatedScalarFieldContainer[str]
    time_limit: _duration_pb2.Duration
    submitted_at: _timestamp_pb2.Timestamp
    ready_at: _timestamp_pb2.Timestamp
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    exit_code: int
    mates: _containers.RepeatedCompositeFieldContainer[Mate]
    holds: HoldRecord
    slot: _timestamp_pb2.Timestamp
    group: Group
    account: str
    malleable: Malleable
    expected_end: _timestamp_pb2.Timestamp
    latest_end: _timestamp_pb2.Timestamp
    columns: _containers.ScalarMap[str, str]
    adoptable: bool
    starting: bool
    def __init__(self, ref: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., name: _Optional[str] = ..., owner: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., reason: _Optional[str] = ..., nodes: _Optional[int] = ..., node_names: _Optional[_Iterable[str]] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ready_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., exit_code: _Optional[int] = ..., mates: _Optional[_Iterable[_Union[Mate, _Mapping]]] = ..., holds: _Optional[_Union[HoldRecord, _Mapping]] = ..., slot: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., group: _Optional[_Union[Group, _Mapping]] = ..., account: _Optional[str] = ..., malleable: _Optional[_Union[Malleable, _Mapping]] = ..., expected_end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., latest_end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., columns: _Optional[_Mapping[str, str]] = ..., adoptable: _Optional[bool] = ..., starting: _Optional[bool] = ...) -> None: ...

class Malleable(_message.Message):
    __slots__ = ("least", "ideal", "using", "told_at", "iterations", "predictions")
    LEAST_FIELD_NUMBER: _ClassVar[int]
    IDEAL_FIELD_NUMBER: _ClassVar[int]
    USING_FIELD_NUMBER: _ClassVar[int]
    TOLD_AT_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    least: int
    ideal: int
    using: int
    told_at: _timestamp_pb2.Timestamp
    iterations: Iterations
    predictions: _containers.RepeatedCompositeFieldContainer[Prediction]
    def __init__(self, least: _Optional[int] = ..., ideal: _Optional[int] = ..., using: _Optional[int] = ..., told_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., iterations: _Optional[_Union[Iterations, _Mapping]] = ..., predictions: _Optional[_Iterable[_Union[Prediction, _Mapping]]] = ...) -> None: ...

class Prediction(_message.Message):
    __slots__ = ("nodes", "exec_time", "exec_time_comp", "exec_time_comm", "cost")
    NODES_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_COMP_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_COMM_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    exec_time: float
    exec_time_comp: float
    exec_time_comm: float
    cost: float
    def __init__(self, nodes: _Optional[int] = ..., exec_time: _Optional[float] = ..., exec_time_comp: _Optional[float] = ..., exec_time_comm: _Optional[float] = ..., cost: _Optional[float] = ...) -> None: ...

class Iterations(_message.Message):
    __slots__ = ("number", "exec_time", "exec_time_comp", "exec_time_comm")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_COMP_FIELD_NUMBER: _ClassVar[int]
    EXEC_TIME_COMM_FIELD_NUMBER: _ClassVar[int]
    number: int
    exec_time: float
    exec_time_comp: float
    exec_time_comm: float
    def __init__(self, number: _Optional[int] = ..., exec_time: _Optional[float] = ..., exec_time_comp: _Optional[float] = ..., exec_time_comm: _Optional[float] = ...) -> None: ...

class MateName(_message.Message):
    __slots__ = ("pair", "job")
    PAIR_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    pair: PairName
    job: _coscheduling_pb2.JobRef
    def __init__(self, pair: _Optional[_Union[PairName, _Mapping]] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ...) -> None: ...

class PairName(_message.Message):
    __slots__ = ("domain", "name")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    domain: str
    name: str
    def __init__(self, domain: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class GroupName(_message.Message):
    __slots__ = ("name", "domains", "windows", "at", "jobs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DOMAINS_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    name: str
    domains: _containers.RepeatedScalarFieldContainer[str]
    windows: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.Window]
    at: _timestamp_pb2.Timestamp
    jobs: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.JobRef]
    def __init__(self, name: _Optional[str] = ..., domains: _Optional[_Iterable[str]] = ..., windows: _Optional[_Iterable[_Union[_coscheduling_pb2.Window, _Mapping]]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., jobs: _Optional[_Iterable[_Union[_coscheduling_pb2.JobRef, _Mapping]]] = ...) -> None: ...

class Terms(_message.Message):
    __slots__ = ("ends_with", "fail_together", "if_requeued", "together_for")
    ENDS_WITH_FIELD_NUMBER: _ClassVar[int]
    FAIL_TOGETHER_FIELD_NUMBER: _ClassVar[int]
    IF_REQUEUED_FIELD_NUMBER: _ClassVar[int]
    TOGETHER_FOR_FIELD_NUMBER: _ClassVar[int]
    ends_with: _containers.RepeatedScalarFieldContainer[str]
    fail_together: bool
    if_requeued: IfRequeued
    together_for: _duration_pb2.Duration
    def __init__(self, ends_with: _Optional[_Iterable[str]] = ..., fail_together: _Optional[bool] = ..., if_requeued: _Optional[_Union[IfRequeued, str]] = ..., together_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("name", "members", "or_alone", "gap", "windows", "at", "terms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    OR_ALONE_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    members: _containers.RepeatedCompositeFieldContainer[Member]
    or_alone: bool
    gap: _duration_pb2.Duration
    windows: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.Window]
    at: _timestamp_pb2.Timestamp
    terms: Terms
    def __init__(self, name: _Optional[str] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., or_alone: _Optional[bool] = ..., gap: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., windows: _Optional[_Iterable[_Union[_coscheduling_pb2.Window, _Mapping]]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class Member(_message.Message):
    __slots__ = ("domain", "job", "status", "problem", "starts_by", "heard_at")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    STARTS_BY_FIELD_NUMBER: _ClassVar[int]
    HEARD_AT_FIELD_NUMBER: _ClassVar[int]
    domain: str
    job: _coscheduling_pb2.JobRef
    status: _coscheduling_pb2.MateStatus
    problem: _coscheduling_pb2.MateProblem
    starts_by: _timestamp_pb2.Timestamp
    heard_at: _timestamp_pb2.Timestamp
    def __init__(self, domain: _Optional[str] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., status: _Optional[_Union[_coscheduling_pb2.MateStatus, str]] = ..., problem: _Optional[_Union[_coscheduling_pb2.MateProblem, str]] = ..., starts_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., heard_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Mate(_message.Message):
    __slots__ = ("name", "job", "lookup", "status", "heard_at", "gap", "problem", "or_alone", "terms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    HEARD_AT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    OR_ALONE_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    name: MateName
    job: _coscheduling_pb2.JobRef
    lookup: _coscheduling_pb2.MateLookup
    status: _coscheduling_pb2.MateStatus
    heard_at: _timestamp_pb2.Timestamp
    gap: _duration_pb2.Duration
    problem: _coscheduling_pb2.MateProblem
    or_alone: bool
    terms: Terms
    def __init__(self, name: _Optional[_Union[MateName, _Mapping]] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., lookup: _Optional[_Union[_coscheduling_pb2.MateLookup, str]] = ..., status: _Optional[_Union[_coscheduling_pb2.MateStatus, str]] = ..., heard_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., gap: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., problem: _Optional[_Union[_coscheduling_pb2.MateProblem, str]] = ..., or_alone: _Optional[bool] = ..., terms: _Optional[_Union[Terms, _Mapping]] = ...) -> None: ...

class HoldRecord(_message.Message):
    __slots__ = ("holds", "yields", "held_node_seconds", "hold_generation", "hold_until", "hold_forever")
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    YIELDS_FIELD_NUMBER: _ClassVar[int]
    HELD_NODE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HOLD_GENERATION_FIELD_NUMBER: _ClassVar[int]
    HOLD_UNTIL_FIELD_NUMBER: _ClassVar[int]
    HOLD_FOREVER_FIELD_NUMBER: _ClassVar[int]
    holds: int
    yields: int
    held_node_seconds: int
    hold_generation: int
    hold_until: _timestamp_pb2.Timestamp
    hold_forever: bool
    def __init__(self, holds: _Optional[int] = ..., yields: _Optional[int] = ..., held_node_seconds: _Optional[int] = ..., hold_generation: _Optional[int] = ..., hold_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., hold_forever: _Optional[bool] = ...) -> None: ...
