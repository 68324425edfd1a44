from cosched.v1 import cluster_pb2 as _cluster_pb2
from cosched.v1 import domain_pb2 as _domain_pb2
from cosched.v1 import job_pb2 as _job_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeJobsRequest(_message.Message):
    __slots__ = ("domain", "viewer", "job_ids", "stories")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    VIEWER_FIELD_NUMBER: _ClassVar[int]
    JOB_IDS_FIELD_NUMBER: _ClassVar[int]
    STORIES_FIELD_NUMBER: _ClassVar[int]
    domain: str
    viewer: str
    job_ids: _containers.RepeatedScalarFieldContainer[str]
    stories: bool
    def __init__(self, domain: _Optional[str] = ..., viewer: _Optional[str] = ..., job_ids: _Optional[_Iterable[str]] = ..., stories: _Optional[bool] = ...) -> None: ...

class DescribedJob(_message.Message):
    __slots__ = ("job_id", "job", "events")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    job: _job_pb2.Job
    events: _containers.RepeatedCompositeFieldContainer[_domain_pb2.Event]
    def __init__(self, job_id: _Optional[str] = ..., job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., events: _Optional[_Iterable[_Union[_domain_pb2.Event, _Mapping]]] = ...) -> None: ...

class DescribeJobsResponse(_message.Message):
    __slots__ = ("domain", "jobs")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    domain: _cluster_pb2.Domain
    jobs: _containers.RepeatedCompositeFieldContainer[DescribedJob]
    def __init__(self, domain: _Optional[_Union[_cluster_pb2.Domain, _Mapping]] = ..., jobs: _Optional[_Iterable[_Union[DescribedJob, _Mapping]]] = ...) -> None: ...
