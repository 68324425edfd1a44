import datetime

from cosched.v1 import cluster_pb2 as _cluster_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListMachinesRequest(_message.Message):
    __slots__ = ("lasting",)
    LASTING_FIELD_NUMBER: _ClassVar[int]
    lasting: bool
    def __init__(self, lasting: _Optional[bool] = ...) -> None: ...

class ListMachinesResponse(_message.Message):
    __slots__ = ("machines", "links", "problems", "gathered_at")
    MACHINES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    GATHERED_AT_FIELD_NUMBER: _ClassVar[int]
    machines: _containers.RepeatedCompositeFieldContainer[Machine]
    links: _containers.RepeatedCompositeFieldContainer[Link]
    problems: _containers.RepeatedScalarFieldContainer[str]
    gathered_at: _timestamp_pb2.Timestamp
    def __init__(self, machines: _Optional[_Iterable[_Union[Machine, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., problems: _Optional[_Iterable[str]] = ..., gathered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Machine(_message.Message):
    __slots__ = ("name", "segment", "node", "state", "speed", "cpu", "memory")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    CPU_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    name: str
    segment: str
    node: str
    state: _cluster_pb2.NodeState
    speed: float
    cpu: float
    memory: float
    def __init__(self, name: _Optional[str] = ..., segment: _Optional[str] = ..., node: _Optional[str] = ..., state: _Optional[_Union[_cluster_pb2.NodeState, str]] = ..., speed: _Optional[float] = ..., cpu: _Optional[float] = ..., memory: _Optional[float] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("start", "to", "bandwidth", "latency")
    START_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    BANDWIDTH_FIELD_NUMBER: _ClassVar[int]
    LATENCY_FIELD_NUMBER: _ClassVar[int]
    start: str
    to: str
    bandwidth: float
    latency: float
    def __init__(self, start: _Optional[str] = ..., to: _Optional[str] = ..., bandwidth: _Optional[float] = ..., latency: _Optional[float] = ...) -> None: ...

class QuoteStartRequest(_message.Message):
    __slots__ = ("nodes", "time_limit", "columns")
    class ColumnsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NODES_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    time_limit: _duration_pb2.Duration
    columns: _containers.ScalarMap[str, str]
    def __init__(self, nodes: _Optional[int] = ..., time_limit: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., columns: _Optional[_Mapping[str, str]] = ...) -> None: ...

class QuoteStartResponse(_message.Message):
    __slots__ = ("at", "now")
    AT_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    now: _timestamp_pb2.Timestamp
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
