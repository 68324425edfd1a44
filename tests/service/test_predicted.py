"""What jobs predict is checked, kept as they tell it, and counted in integers (fluid.md, Predictions)."""

import math

import pytest

from cosched.core.allocation import Table
from cosched.service.api.adaptive_api import checked_predictions
from cosched.service.domain.predictions import Prediction, as_kept, as_told, counted
from cosched.service.wire.fields import FieldError
from cosched.v1 import job_pb2


def told(sizes: range, **times: float) -> list[job_pb2.Prediction]:
    return [job_pb2.Prediction(nodes=nodes, **{"exec_time": 1.0} | times) for nodes in sizes]


def test_what_is_told_is_kept_and_counted():
    """ "T(P) is exec_time in whole nanoseconds, at least 1"; "the cost of the size before it, ... rounded up"."""
    predictions = [Prediction(0.25, 0.2, 0.05, 1.5), Prediction(1e-12, 0.0, 0.0, 0.0)]
    assert as_told(as_kept(predictions)) == tuple(predictions)
    assert counted(predictions) == Table((250_000_000, 1), (2, 0))


def test_each_size_is_told_once_and_in_order():
    assert len(checked_predictions(told(range(2, 1026)), 2, 1025)) == 1024
    for sizes in (range(2, 1025), range(1, 1026), range(1025, 1, -1), range(0)):
        with pytest.raises(FieldError, match="must be one for each number of nodes from 2 to 1025, in this order"):
            checked_predictions(told(sizes), 2, 1025)
    with pytest.raises(FieldError, match="are kept of at most 1024 sizes; the job has 1025"):
        checked_predictions(told(range(1, 1026)), 1, 1025)


@pytest.mark.parametrize("name", Prediction._fields)
@pytest.mark.parametrize("seconds", [-1e-9, math.nan, math.inf, 2e9])
def test_no_time_is_refused(name, seconds):
    with pytest.raises(FieldError, match=rf"predictions\[1\].{name}: is not a time from 0 to 1000000000 s"):
        checked_predictions([*told(range(1, 2)), *told(range(2, 3), **{name: seconds})], 1, 2)
