import datetime

from cosched.v1 import explain_pb2 as _explain_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class UsageBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    USAGE_BY_UNSPECIFIED: _ClassVar[UsageBy]
    USAGE_BY_USER: _ClassVar[UsageBy]
    USAGE_BY_ACCOUNT: _ClassVar[UsageBy]
    USAGE_BY_PAIR: _ClassVar[UsageBy]
USAGE_BY_UNSPECIFIED: UsageBy
USAGE_BY_USER: UsageBy
USAGE_BY_ACCOUNT: UsageBy
USAGE_BY_PAIR: UsageBy

class ListUsageRequest(_message.Message):
    __slots__ = ("by", "since", "limit")
    BY_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    by: UsageBy
    since: _timestamp_pb2.Timestamp
    limit: int
    def __init__(self, by: _Optional[_Union[UsageBy, str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., limit: _Optional[int] = ...) -> None: ...

class ListUsageResponse(_message.Message):
    __slots__ = ("usages",)
    USAGES_FIELD_NUMBER: _ClassVar[int]
    usages: _containers.RepeatedCompositeFieldContainer[Usage]
    def __init__(self, usages: _Optional[_Iterable[_Union[Usage, _Mapping]]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("name", "jobs", "cost", "held_in_a_day", "may_hold_in_a_day")
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    HELD_IN_A_DAY_FIELD_NUMBER: _ClassVar[int]
    MAY_HOLD_IN_A_DAY_FIELD_NUMBER: _ClassVar[int]
    name: str
    jobs: int
    cost: _explain_pb2.Cost
    held_in_a_day: int
    may_hold_in_a_day: int
    def __init__(self, name: _Optional[str] = ..., jobs: _Optional[int] = ..., cost: _Optional[_Union[_explain_pb2.Cost, _Mapping]] = ..., held_in_a_day: _Optional[int] = ..., may_hold_in_a_day: _Optional[int] = ...) -> None: ...
