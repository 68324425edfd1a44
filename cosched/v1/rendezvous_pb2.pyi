from cosched.v1 import coscheduling_pb2 as _coscheduling_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Place(_message.Message):
    __slots__ = ("nodelist", "host", "port")
    NODELIST_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    nodelist: str
    host: str
    port: int
    def __init__(self, nodelist: _Optional[str] = ..., host: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class PortRange(_message.Message):
    __slots__ = ("low", "high")
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    low: int
    high: int
    def __init__(self, low: _Optional[int] = ..., high: _Optional[int] = ...) -> None: ...

class FindMatesRequest(_message.Message):
    __slots__ = ("job", "place")
    JOB_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    place: Place
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., place: _Optional[_Union[Place, _Mapping]] = ...) -> None: ...

class FindMatesResponse(_message.Message):
    __slots__ = ("ports", "mates")
    PORTS_FIELD_NUMBER: _ClassVar[int]
    MATES_FIELD_NUMBER: _ClassVar[int]
    ports: PortRange
    mates: _containers.RepeatedCompositeFieldContainer[FoundMate]
    def __init__(self, ports: _Optional[_Union[PortRange, _Mapping]] = ..., mates: _Optional[_Iterable[_Union[FoundMate, _Mapping]]] = ...) -> None: ...

class FoundMate(_message.Message):
    __slots__ = ("job", "status", "place", "ports", "problem")
    JOB_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    status: _coscheduling_pb2.MateStatus
    place: Place
    ports: PortRange
    problem: str
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., status: _Optional[_Union[_coscheduling_pb2.MateStatus, str]] = ..., place: _Optional[_Union[Place, _Mapping]] = ..., ports: _Optional[_Union[PortRange, _Mapping]] = ..., problem: _Optional[str] = ...) -> None: ...

class GetPlaceRequest(_message.Message):
    __slots__ = ("job", "caller")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    caller: _coscheduling_pb2.JobRef
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., caller: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ...) -> None: ...

class GetPlaceResponse(_message.Message):
    __slots__ = ("status", "place", "ports")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    status: _coscheduling_pb2.MateStatus
    place: Place
    ports: PortRange
    def __init__(self, status: _Optional[_Union[_coscheduling_pb2.MateStatus, str]] = ..., place: _Optional[_Union[Place, _Mapping]] = ..., ports: _Optional[_Union[PortRange, _Mapping]] = ...) -> None: ...
