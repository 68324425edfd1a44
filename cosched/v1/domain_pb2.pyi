import datetime

from cosched.v1 import cluster_pb2 as _cluster_pb2
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

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_SUBMITTED: _ClassVar[EventKind]
    EVENT_KIND_READY: _ClassVar[EventKind]
    EVENT_KIND_HELD: _ClassVar[EventKind]
    EVENT_KIND_YIELDED: _ClassVar[EventKind]
    EVENT_KIND_RELEASED: _ClassVar[EventKind]
    EVENT_KIND_STARTED: _ClassVar[EventKind]
    EVENT_KIND_ENDED: _ClassVar[EventKind]
    EVENT_KIND_LINKED: _ClassVar[EventKind]
    EVENT_KIND_UNLINKED: _ClassVar[EventKind]
    EVENT_KIND_PEER: _ClassVar[EventKind]
    EVENT_KIND_WARNING: _ClassVar[EventKind]
    EVENT_KIND_UNKNOWN: _ClassVar[EventKind]
    EVENT_KIND_SLOT: _ClassVar[EventKind]
    EVENT_KIND_RESIZED: _ClassVar[EventKind]
    EVENT_KIND_BEGAN: _ClassVar[EventKind]
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_SUBMITTED: EventKind
EVENT_KIND_READY: EventKind
EVENT_KIND_HELD: EventKind
EVENT_KIND_YIELDED: EventKind
EVENT_KIND_RELEASED: EventKind
EVENT_KIND_STARTED: EventKind
EVENT_KIND_ENDED: EventKind
EVENT_KIND_LINKED: EventKind
EVENT_KIND_UNLINKED: EventKind
EVENT_KIND_PEER: EventKind
EVENT_KIND_WARNING: EventKind
EVENT_KIND_UNKNOWN: EventKind
EVENT_KIND_SLOT: EventKind
EVENT_KIND_RESIZED: EventKind
EVENT_KIND_BEGAN: EventKind

class SubmitJobRequest(_message.Message):
    __slots__ = ("request_id", "name", "nodes", "time_limit", "script", "arguments", "working_directory", "environment", "mates", "hold", "owner", "or_alone", "group", "least_nodes", "columns", "adoptable", "terms", "in_place_of")
    class EnvironmentEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ColumnsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    WORKING_DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    ENVIRONMENT_FIELD_NUMBER: _ClassVar[int]
    MATES_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    OR_ALONE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    LEAST_NODES_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ADOPTABLE_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    IN_PLACE_OF_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    name: str
    nodes: int
    time_limit: _duration_pb2.Duration
    script: bytes
    arguments: _containers.RepeatedScalarFieldContainer[str]
    working_directory: str
    environment: _containers.ScalarMap[str, str]
    mates: _containers.RepeatedCompositeFieldContainer[_job_pb2.MateName]
    hold: bool
    owner: str
    or_alone: bool
    group: _job_pb2.GroupName
    least_nodes: int
    columns: _containers.ScalarMap[str, str]
    adoptable: bool
    terms: _job_pb2.Terms
    in_place_of: _coscheduling_pb2.JobRef
    def __init__(self, request_id: _Optional[str] = ..., name: _Optional[str] = ..., nodes: _Optional[int] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., script: _Optional[bytes] = ..., arguments: _Optional[_Iterable[str]] = ..., working_directory: _Optional[str] = ..., environment: _Optional[_Mapping[str, str]] = ..., mates: _Optional[_Iterable[_Union[_job_pb2.MateName, _Mapping]]] = ..., hold: _Optional[bool] = ..., owner: _Optional[str] = ..., or_alone: _Optional[bool] = ..., group: _Optional[_Union[_job_pb2.GroupName, _Mapping]] = ..., least_nodes: _Optional[int] = ..., columns: _Optional[_Mapping[str, str]] = ..., adoptable: _Optional[bool] = ..., terms: _Optional[_Union[_job_pb2.Terms, _Mapping]] = ..., in_place_of: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ...) -> None: ...

class SubmitJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class CancelJobRequest(_message.Message):
    __slots__ = ("request_id", "job", "unless_started", "final")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    UNLESS_STARTED_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: _coscheduling_pb2.JobRef
    unless_started: bool
    final: bool
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., unless_started: _Optional[bool] = ..., final: _Optional[bool] = ...) -> None: ...

class CancelJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class LinkJobsRequest(_message.Message):
    __slots__ = ("request_id", "job", "mate", "or_alone", "group", "terms")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    MATE_FIELD_NUMBER: _ClassVar[int]
    OR_ALONE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: _coscheduling_pb2.JobRef
    mate: _job_pb2.MateName
    or_alone: bool
    group: _job_pb2.GroupName
    terms: _job_pb2.Terms
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., mate: _Optional[_Union[_job_pb2.MateName, _Mapping]] = ..., or_alone: _Optional[bool] = ..., group: _Optional[_Union[_job_pb2.GroupName, _Mapping]] = ..., terms: _Optional[_Union[_job_pb2.Terms, _Mapping]] = ...) -> None: ...

class LinkJobsResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class UnlinkJobsRequest(_message.Message):
    __slots__ = ("request_id", "job", "mate_domain")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    MATE_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: _coscheduling_pb2.JobRef
    mate_domain: str
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., mate_domain: _Optional[str] = ...) -> None: ...

class UnlinkJobsResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("states", "owner", "paired_only", "page_size", "page_token", "group")
    STATES_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PAIRED_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_job_pb2.JobState]
    owner: str
    paired_only: bool
    page_size: int
    page_token: str
    group: str
    def __init__(self, states: _Optional[_Iterable[_Union[_job_pb2.JobState, str]]] = ..., owner: _Optional[str] = ..., paired_only: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_job_pb2.Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[_job_pb2.Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReleaseHoldRequest(_message.Message):
    __slots__ = ("request_id", "job")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    job: _coscheduling_pb2.JobRef
    def __init__(self, request_id: _Optional[str] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ...) -> None: ...

class ReleaseHoldResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class DrainDomainRequest(_message.Message):
    __slots__ = ("request_id", "expected", "settle")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    SETTLE_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    expected: _duration_pb2.Duration
    settle: _duration_pb2.Duration
    def __init__(self, request_id: _Optional[str] = ..., expected: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., settle: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class DrainDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _cluster_pb2.Domain
    def __init__(self, domain: _Optional[_Union[_cluster_pb2.Domain, _Mapping]] = ...) -> None: ...

class ResumeDomainRequest(_message.Message):
    __slots__ = ("request_id",)
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    def __init__(self, request_id: _Optional[str] = ...) -> None: ...

class ResumeDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _cluster_pb2.Domain
    def __init__(self, domain: _Optional[_Union[_cluster_pb2.Domain, _Mapping]] = ...) -> None: ...

class ListNodesRequest(_message.Message):
    __slots__ = ("states", "page_size", "page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[_cluster_pb2.NodeState]
    page_size: int
    page_token: str
    def __init__(self, states: _Optional[_Iterable[_Union[_cluster_pb2.NodeState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNodesResponse(_message.Message):
    __slots__ = ("groups", "next_page_token")
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[_cluster_pb2.NodeGroup]
    next_page_token: str
    def __init__(self, groups: _Optional[_Iterable[_Union[_cluster_pb2.NodeGroup, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetDomainRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetDomainResponse(_message.Message):
    __slots__ = ("domain",)
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    domain: _cluster_pb2.Domain
    def __init__(self, domain: _Optional[_Union[_cluster_pb2.Domain, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("sequence", "at", "kind", "job", "text", "detail")
    class DetailEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    at: _timestamp_pb2.Timestamp
    kind: EventKind
    job: _coscheduling_pb2.JobRef
    text: str
    detail: _containers.ScalarMap[str, str]
    def __init__(self, sequence: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., kind: _Optional[_Union[EventKind, str]] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., text: _Optional[str] = ..., detail: _Optional[_Mapping[str, str]] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ("jobs", "kinds", "after_sequence", "until_now")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_NOW_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.JobRef]
    kinds: _containers.RepeatedScalarFieldContainer[EventKind]
    after_sequence: int
    until_now: bool
    def __init__(self, jobs: _Optional[_Iterable[_Union[_coscheduling_pb2.JobRef, _Mapping]]] = ..., kinds: _Optional[_Iterable[_Union[EventKind, str]]] = ..., after_sequence: _Optional[int] = ..., until_now: _Optional[bool] = ...) -> None: ...

class WatchEventsResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: Event
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ...) -> None: ...
