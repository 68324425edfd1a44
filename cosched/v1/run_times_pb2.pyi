import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunTimesBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_TIMES_BY_UNSPECIFIED: _ClassVar[RunTimesBy]
    RUN_TIMES_BY_PAIR: _ClassVar[RunTimesBy]
    RUN_TIMES_BY_CLASS: _ClassVar[RunTimesBy]
    RUN_TIMES_BY_RESOURCE: _ClassVar[RunTimesBy]
    RUN_TIMES_BY_USER: _ClassVar[RunTimesBy]

class RunTimeSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_TIME_SOURCE_UNSPECIFIED: _ClassVar[RunTimeSource]
    RUN_TIME_SOURCE_RUNS: _ClassVar[RunTimeSource]
    RUN_TIME_SOURCE_STATED: _ClassVar[RunTimeSource]
    RUN_TIME_SOURCE_KIND: _ClassVar[RunTimeSource]
RUN_TIMES_BY_UNSPECIFIED: RunTimesBy
RUN_TIMES_BY_PAIR: RunTimesBy
RUN_TIMES_BY_CLASS: RunTimesBy
RUN_TIMES_BY_RESOURCE: RunTimesBy
RUN_TIMES_BY_USER: RunTimesBy
RUN_TIME_SOURCE_UNSPECIFIED: RunTimeSource
RUN_TIME_SOURCE_RUNS: RunTimeSource
RUN_TIME_SOURCE_STATED: RunTimeSource
RUN_TIME_SOURCE_KIND: RunTimeSource

class ListRunTimesRequest(_message.Message):
    __slots__ = ("by",)
    BY_FIELD_NUMBER: _ClassVar[int]
    by: RunTimesBy
    def __init__(self, by: _Optional[_Union[RunTimesBy, str]] = ...) -> None: ...

class ListRunTimesResponse(_message.Message):
    __slots__ = ("run_times",)
    RUN_TIMES_FIELD_NUMBER: _ClassVar[int]
    run_times: _containers.RepeatedCompositeFieldContainer[RunTime]
    def __init__(self, run_times: _Optional[_Iterable[_Union[RunTime, _Mapping]]] = ...) -> None: ...

class RunTime(_message.Message):
    __slots__ = ("job_class", "resource", "user", "queue", "runs", "mean", "standard_deviation", "tenth", "median", "ninetieth", "stated", "expected", "source", "spread")
    JOB_CLASS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    STANDARD_DEVIATION_FIELD_NUMBER: _ClassVar[int]
    TENTH_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_FIELD_NUMBER: _ClassVar[int]
    NINETIETH_FIELD_NUMBER: _ClassVar[int]
    STATED_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    job_class: str
    resource: str
    user: str
    queue: str
    runs: int
    mean: _duration_pb2.Duration
    standard_deviation: float
    tenth: _duration_pb2.Duration
    median: _duration_pb2.Duration
    ninetieth: _duration_pb2.Duration
    stated: _duration_pb2.Duration
    expected: _duration_pb2.Duration
    source: RunTimeSource
    spread: float
    def __init__(self, job_class: _Optional[str] = ..., resource: _Optional[str] = ..., user: _Optional[str] = ..., queue: _Optional[str] = ..., runs: _Optional[int] = ..., mean: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., standard_deviation: _Optional[float] = ..., tenth: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., median: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., ninetieth: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stated: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expected: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., source: _Optional[_Union[RunTimeSource, str]] = ..., spread: _Optional[float] = ...) -> None: ...

class CorrectRunTimesRequest(_message.Message):
    __slots__ = ("request_id", "corrections", "runs")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CORRECTIONS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    corrections: _containers.RepeatedCompositeFieldContainer[RunTimeCorrection]
    runs: _containers.RepeatedCompositeFieldContainer[LearnedRuns]
    def __init__(self, request_id: _Optional[str] = ..., corrections: _Optional[_Iterable[_Union[RunTimeCorrection, _Mapping]]] = ..., runs: _Optional[_Iterable[_Union[LearnedRuns, _Mapping]]] = ...) -> None: ...

class LearnedRuns(_message.Message):
    __slots__ = ("job_class", "resource", "user", "queue", "histogram", "total", "squares")
    class HistogramEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    JOB_CLASS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    HISTOGRAM_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    SQUARES_FIELD_NUMBER: _ClassVar[int]
    job_class: str
    resource: str
    user: str
    queue: str
    histogram: _containers.ScalarMap[int, int]
    total: int
    squares: str
    def __init__(self, job_class: _Optional[str] = ..., resource: _Optional[str] = ..., user: _Optional[str] = ..., queue: _Optional[str] = ..., histogram: _Optional[_Mapping[int, int]] = ..., total: _Optional[int] = ..., squares: _Optional[str] = ...) -> None: ...

class RunTimeCorrection(_message.Message):
    __slots__ = ("job_class", "resource", "stated")
    JOB_CLASS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    STATED_FIELD_NUMBER: _ClassVar[int]
    job_class: str
    resource: str
    stated: _duration_pb2.Duration
    def __init__(self, job_class: _Optional[str] = ..., resource: _Optional[str] = ..., stated: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class CorrectRunTimesResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeSiteRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeSiteResponse(_message.Message):
    __slots__ = ("tables",)
    TABLES_FIELD_NUMBER: _ClassVar[int]
    tables: _containers.RepeatedCompositeFieldContainer[SiteTable]
    def __init__(self, tables: _Optional[_Iterable[_Union[SiteTable, _Mapping]]] = ...) -> None: ...

class SiteTable(_message.Message):
    __slots__ = ("name", "columns", "rows")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    name: str
    columns: _containers.RepeatedScalarFieldContainer[str]
    rows: _containers.RepeatedCompositeFieldContainer[SiteRow]
    def __init__(self, name: _Optional[str] = ..., columns: _Optional[_Iterable[str]] = ..., rows: _Optional[_Iterable[_Union[SiteRow, _Mapping]]] = ...) -> None: ...

class SiteRow(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cells: _Optional[_Iterable[str]] = ...) -> None: ...
