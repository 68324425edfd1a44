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

class NodeState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_STATE_UNSPECIFIED: _ClassVar[NodeState]
    NODE_STATE_IDLE: _ClassVar[NodeState]
    NODE_STATE_BUSY: _ClassVar[NodeState]
    NODE_STATE_HELD: _ClassVar[NodeState]
    NODE_STATE_DOWN: _ClassVar[NodeState]
    NODE_STATE_UNKNOWN: _ClassVar[NodeState]

class Scheme(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCHEME_UNSPECIFIED: _ClassVar[Scheme]
    SCHEME_HOLD: _ClassVar[Scheme]
    SCHEME_YIELD: _ClassVar[Scheme]
    SCHEME_OFF: _ClassVar[Scheme]

class PeerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PEER_STATE_UNSPECIFIED: _ClassVar[PeerState]
    PEER_STATE_REACHABLE: _ClassVar[PeerState]
    PEER_STATE_UNREACHABLE: _ClassVar[PeerState]
    PEER_STATE_REFUSED: _ClassVar[PeerState]
    PEER_STATE_UNKNOWN: _ClassVar[PeerState]
NODE_STATE_UNSPECIFIED: NodeState
NODE_STATE_IDLE: NodeState
NODE_STATE_BUSY: NodeState
NODE_STATE_HELD: NodeState
NODE_STATE_DOWN: NodeState
NODE_STATE_UNKNOWN: NodeState
SCHEME_UNSPECIFIED: Scheme
SCHEME_HOLD: Scheme
SCHEME_YIELD: Scheme
SCHEME_OFF: Scheme
PEER_STATE_UNSPECIFIED: PeerState
PEER_STATE_REACHABLE: PeerState
PEER_STATE_UNREACHABLE: PeerState
PEER_STATE_REFUSED: PeerState
PEER_STATE_UNKNOWN: PeerState

class NodeGroup(_message.Message):
    __slots__ = ("state", "count", "names", "job", "reason")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    state: NodeState
    count: int
    names: _containers.RepeatedScalarFieldContainer[str]
    job: _coscheduling_pb2.JobRef
    reason: str
    def __init__(self, state: _Optional[_Union[NodeState, str]] = ..., count: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class NodeCounts(_message.Message):
    __slots__ = ("idle", "busy", "held", "down", "unknown")
    IDLE_FIELD_NUMBER: _ClassVar[int]
    BUSY_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    DOWN_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    idle: int
    busy: int
    held: int
    down: int
    unknown: int
    def __init__(self, idle: _Optional[int] = ..., busy: _Optional[int] = ..., held: _Optional[int] = ..., down: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class JobCounts(_message.Message):
    __slots__ = ("queued", "ready", "holding", "running")
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    HOLDING_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    queued: int
    ready: int
    holding: int
    running: int
    def __init__(self, queued: _Optional[int] = ..., ready: _Optional[int] = ..., holding: _Optional[int] = ..., running: _Optional[int] = ...) -> None: ...

class Domain(_message.Message):
    __slots__ = ("name", "version", "manager", "scheme", "release_interval", "max_held_fraction", "nodes", "jobs", "peers", "now", "serving_since", "drain", "mate_budget", "slots", "mate_budget_share", "named_nodes", "maps_applications", "default_peer")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MANAGER_FIELD_NUMBER: _ClassVar[int]
    SCHEME_FIELD_NUMBER: _ClassVar[int]
    RELEASE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    MAX_HELD_FRACTION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    SERVING_SINCE_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    MATE_BUDGET_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    MATE_BUDGET_SHARE_FIELD_NUMBER: _ClassVar[int]
    NAMED_NODES_FIELD_NUMBER: _ClassVar[int]
    MAPS_APPLICATIONS_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_PEER_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: str
    manager: str
    scheme: Scheme
    release_interval: _duration_pb2.Duration
    max_held_fraction: str
    nodes: NodeCounts
    jobs: JobCounts
    peers: _containers.RepeatedCompositeFieldContainer[Peer]
    now: _timestamp_pb2.Timestamp
    serving_since: _timestamp_pb2.Timestamp
    drain: Drain
    mate_budget: str
    slots: bool
    mate_budget_share: str
    named_nodes: bool
    maps_applications: bool
    default_peer: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., manager: _Optional[str] = ..., scheme: _Optional[_Union[Scheme, str]] = ..., release_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_held_fraction: _Optional[str] = ..., nodes: _Optional[_Union[NodeCounts, _Mapping]] = ..., jobs: _Optional[_Union[JobCounts, _Mapping]] = ..., peers: _Optional[_Iterable[_Union[Peer, _Mapping]]] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., serving_since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., drain: _Optional[_Union[Drain, _Mapping]] = ..., mate_budget: _Optional[str] = ..., slots: _Optional[bool] = ..., mate_budget_share: _Optional[str] = ..., named_nodes: _Optional[bool] = ..., maps_applications: _Optional[bool] = ..., default_peer: _Optional[str] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = ("since", "until", "settled_by", "waits_for")
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    SETTLED_BY_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    settled_by: _timestamp_pb2.Timestamp
    waits_for: _containers.RepeatedCompositeFieldContainer[_coscheduling_pb2.JobRef]
    def __init__(self, since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., settled_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., waits_for: _Optional[_Iterable[_Union[_coscheduling_pb2.JobRef, _Mapping]]] = ...) -> None: ...

class Peer(_message.Message):
    __slots__ = ("name", "address", "state", "since", "round_trip", "problem", "clock_offset", "clock_uncertainty", "takes_groups", "stopped_at", "back_by")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    ROUND_TRIP_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    CLOCK_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CLOCK_UNCERTAINTY_FIELD_NUMBER: _ClassVar[int]
    TAKES_GROUPS_FIELD_NUMBER: _ClassVar[int]
    STOPPED_AT_FIELD_NUMBER: _ClassVar[int]
    BACK_BY_FIELD_NUMBER: _ClassVar[int]
    name: str
    address: str
    state: PeerState
    since: _timestamp_pb2.Timestamp
    round_trip: _duration_pb2.Duration
    problem: str
    clock_offset: float
    clock_uncertainty: float
    takes_groups: bool
    stopped_at: _timestamp_pb2.Timestamp
    back_by: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., address: _Optional[str] = ..., state: _Optional[_Union[PeerState, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., round_trip: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., problem: _Optional[str] = ..., clock_offset: _Optional[float] = ..., clock_uncertainty: _Optional[float] = ..., takes_groups: _Optional[bool] = ..., stopped_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., back_by: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
