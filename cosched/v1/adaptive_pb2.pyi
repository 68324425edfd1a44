import datetime

from cosched.v1 import coscheduling_pb2 as _coscheduling_pb2
from cosched.v1 import job_pb2 as _job_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Adaptation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADAPTATION_UNSPECIFIED: _ClassVar[Adaptation]
    ADAPTATION_NONE: _ClassVar[Adaptation]
    ADAPTATION_ADD_PROCESSOR: _ClassVar[Adaptation]
    ADAPTATION_REMOVE_PROCESSOR: _ClassVar[Adaptation]
    ADAPTATION_MIGRATE_PROCESSOR: _ClassVar[Adaptation]
ADAPTATION_UNSPECIFIED: Adaptation
ADAPTATION_NONE: Adaptation
ADAPTATION_ADD_PROCESSOR: Adaptation
ADAPTATION_REMOVE_PROCESSOR: Adaptation
ADAPTATION_MIGRATE_PROCESSOR: Adaptation

class ReachBoundaryRequest(_message.Message):
    __slots__ = ("job", "acknowledged", "past")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    PAST_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    acknowledged: int
    past: _job_pb2.Iterations
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., acknowledged: _Optional[int] = ..., past: _Optional[_Union[_job_pb2.Iterations, _Mapping]] = ...) -> None: ...

class TellPredictionsRequest(_message.Message):
    __slots__ = ("job", "predictions")
    JOB_FIELD_NUMBER: _ClassVar[int]
    PREDICTIONS_FIELD_NUMBER: _ClassVar[int]
    job: _coscheduling_pb2.JobRef
    predictions: _containers.RepeatedCompositeFieldContainer[_job_pb2.Prediction]
    def __init__(self, job: _Optional[_Union[_coscheduling_pb2.JobRef, _Mapping]] = ..., predictions: _Optional[_Iterable[_Union[_job_pb2.Prediction, _Mapping]]] = ...) -> None: ...

class TellPredictionsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReachBoundaryResponse(_message.Message):
    __slots__ = ("adaptation", "generation", "nodes", "answer_within", "least", "ideal")
    ADAPTATION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ANSWER_WITHIN_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    IDEAL_FIELD_NUMBER: _ClassVar[int]
    adaptation: Adaptation
    generation: int
    nodes: _containers.RepeatedScalarFieldContainer[str]
    answer_within: _duration_pb2.Duration
    least: int
    ideal: int
    def __init__(self, adaptation: _Optional[_Union[Adaptation, str]] = ..., generation: _Optional[int] = ..., nodes: _Optional[_Iterable[str]] = ..., answer_within: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., least: _Optional[int] = ..., ideal: _Optional[int] = ...) -> None: ...
