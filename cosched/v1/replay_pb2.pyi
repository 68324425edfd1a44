from cosched.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_UNSPECIFIED: _ClassVar[Phase]
    PHASE_COMPLETIONS: _ClassVar[Phase]
    PHASE_TIMERS: _ClassVar[Phase]
    PHASE_SUBMISSIONS: _ClassVar[Phase]
    PHASE_ITERATIONS: _ClassVar[Phase]
    PHASE_SLOTS: _ClassVar[Phase]
    PHASE_NEWS: _ClassVar[Phase]

class JobChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_CHANGE_UNSPECIFIED: _ClassVar[JobChange]
    JOB_CHANGE_CANCELLED: _ClassVar[JobChange]
    JOB_CHANGE_CANCELLED_FOR_GOOD: _ClassVar[JobChange]
    JOB_CHANGE_FAILED: _ClassVar[JobChange]
    JOB_CHANGE_REQUEUED: _ClassVar[JobChange]
    JOB_CHANGE_UNLINKED: _ClassVar[JobChange]
    JOB_CHANGE_REPLACED: _ClassVar[JobChange]

class DomainChange(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DOMAIN_CHANGE_UNSPECIFIED: _ClassVar[DomainChange]
    DOMAIN_CHANGE_DRAINED: _ClassVar[DomainChange]
    DOMAIN_CHANGE_DOWN: _ClassVar[DomainChange]
    DOMAIN_CHANGE_UP: _ClassVar[DomainChange]
    DOMAIN_CHANGE_SCHEME: _ClassVar[DomainChange]
    DOMAIN_CHANGE_CUT: _ClassVar[DomainChange]
    DOMAIN_CHANGE_MENDED: _ClassVar[DomainChange]
    DOMAIN_CHANGE_THERE: _ClassVar[DomainChange]

class AllocationEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ALLOCATION_END_UNSPECIFIED: _ClassVar[AllocationEnd]
    ALLOCATION_END_COMPLETED: _ClassVar[AllocationEnd]
    ALLOCATION_END_RESIZED: _ClassVar[AllocationEnd]
    ALLOCATION_END_REQUEUED: _ClassVar[AllocationEnd]
    ALLOCATION_END_LASTS: _ClassVar[AllocationEnd]
    ALLOCATION_END_STOPPED: _ClassVar[AllocationEnd]
PHASE_UNSPECIFIED: Phase
PHASE_COMPLETIONS: Phase
PHASE_TIMERS: Phase
PHASE_SUBMISSIONS: Phase
PHASE_ITERATIONS: Phase
PHASE_SLOTS: Phase
PHASE_NEWS: Phase
JOB_CHANGE_UNSPECIFIED: JobChange
JOB_CHANGE_CANCELLED: JobChange
JOB_CHANGE_CANCELLED_FOR_GOOD: JobChange
JOB_CHANGE_FAILED: JobChange
JOB_CHANGE_REQUEUED: JobChange
JOB_CHANGE_UNLINKED: JobChange
JOB_CHANGE_REPLACED: JobChange
DOMAIN_CHANGE_UNSPECIFIED: DomainChange
DOMAIN_CHANGE_DRAINED: DomainChange
DOMAIN_CHANGE_DOWN: DomainChange
DOMAIN_CHANGE_UP: DomainChange
DOMAIN_CHANGE_SCHEME: DomainChange
DOMAIN_CHANGE_CUT: DomainChange
DOMAIN_CHANGE_MENDED: DomainChange
DOMAIN_CHANGE_THERE: DomainChange
ALLOCATION_END_UNSPECIFIED: AllocationEnd
ALLOCATION_END_COMPLETED: AllocationEnd
ALLOCATION_END_RESIZED: AllocationEnd
ALLOCATION_END_REQUEUED: AllocationEnd
ALLOCATION_END_LASTS: AllocationEnd
ALLOCATION_END_STOPPED: AllocationEnd

class AdvanceRequest(_message.Message):
    __slots__ = ("instant", "phases", "until")
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    PHASES_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    instant: int
    phases: _containers.RepeatedScalarFieldContainer[Phase]
    until: int
    def __init__(self, instant: _Optional[int] = ..., phases: _Optional[_Iterable[_Union[Phase, str]]] = ..., until: _Optional[int] = ...) -> None: ...

class AdvanceResponse(_message.Message):
    __slots__ = ("next_completion", "next_timer", "next_submission", "changed_domains", "instant", "timers_fired", "before_iterations")
    NEXT_COMPLETION_FIELD_NUMBER: _ClassVar[int]
    NEXT_TIMER_FIELD_NUMBER: _ClassVar[int]
    NEXT_SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    CHANGED_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    TIMERS_FIRED_FIELD_NUMBER: _ClassVar[int]
    BEFORE_ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    next_completion: int
    next_timer: int
    next_submission: int
    changed_domains: _containers.RepeatedScalarFieldContainer[str]
    instant: int
    timers_fired: bool
    before_iterations: bool
    def __init__(self, next_completion: _Optional[int] = ..., next_timer: _Optional[int] = ..., next_submission: _Optional[int] = ..., changed_domains: _Optional[_Iterable[str]] = ..., instant: _Optional[int] = ..., timers_fired: _Optional[bool] = ..., before_iterations: _Optional[bool] = ...) -> None: ...

class ChangeJobRequest(_message.Message):
    __slots__ = ("instant", "number", "change", "by")
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    instant: int
    number: int
    change: JobChange
    by: int
    def __init__(self, instant: _Optional[int] = ..., number: _Optional[int] = ..., change: _Optional[_Union[JobChange, str]] = ..., by: _Optional[int] = ...) -> None: ...

class ChangeJobResponse(_message.Message):
    __slots__ = ("done",)
    DONE_FIELD_NUMBER: _ClassVar[int]
    done: bool
    def __init__(self, done: _Optional[bool] = ...) -> None: ...

class ChangeDomainRequest(_message.Message):
    __slots__ = ("instant", "change", "nodes", "scheme", "domain")
    INSTANT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    instant: int
    change: DomainChange
    nodes: int
    scheme: str
    domain: str
    def __init__(self, instant: _Optional[int] = ..., change: _Optional[_Union[DomainChange, str]] = ..., nodes: _Optional[int] = ..., scheme: _Optional[str] = ..., domain: _Optional[str] = ...) -> None: ...

class ChangeDomainResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetResultsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetResultsResponse(_message.Message):
    __slots__ = ("jobs", "releases", "allocations", "counts", "events")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    JOBS_FIELD_NUMBER: _ClassVar[int]
    RELEASES_FIELD_NUMBER: _ClassVar[int]
    ALLOCATIONS_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobResult]
    releases: int
    allocations: _containers.RepeatedCompositeFieldContainer[PastAllocation]
    counts: _containers.ScalarMap[str, int]
    events: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobResult, _Mapping]]] = ..., releases: _Optional[int] = ..., allocations: _Optional[_Iterable[_Union[PastAllocation, _Mapping]]] = ..., counts: _Optional[_Mapping[str, int]] = ..., events: _Optional[_Iterable[str]] = ...) -> None: ...

class PastAllocation(_message.Message):
    __slots__ = ("number", "allocation", "nodes", "start", "end", "ended", "where", "resource")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    ALLOCATION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    WHERE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    number: int
    allocation: int
    nodes: int
    start: int
    end: int
    ended: AllocationEnd
    where: str
    resource: str
    def __init__(self, number: _Optional[int] = ..., allocation: _Optional[int] = ..., nodes: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., ended: _Optional[_Union[AllocationEnd, str]] = ..., where: _Optional[str] = ..., resource: _Optional[str] = ...) -> None: ...

class JobResult(_message.Message):
    __slots__ = ("number", "state", "ready", "start", "end", "holds", "yields", "held_node_seconds", "hold_start", "last_start")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    YIELDS_FIELD_NUMBER: _ClassVar[int]
    HELD_NODE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    HOLD_START_FIELD_NUMBER: _ClassVar[int]
    LAST_START_FIELD_NUMBER: _ClassVar[int]
    number: int
    state: _job_pb2.JobState
    ready: int
    start: int
    end: int
    holds: int
    yields: int
    held_node_seconds: int
    hold_start: int
    last_start: int
    def __init__(self, number: _Optional[int] = ..., state: _Optional[_Union[_job_pb2.JobState, str]] = ..., ready: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., holds: _Optional[int] = ..., yields: _Optional[int] = ..., held_node_seconds: _Optional[int] = ..., hold_start: _Optional[int] = ..., last_start: _Optional[int] = ...) -> None: ...
