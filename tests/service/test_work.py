"""How much Python a service runs for a request: calls of our functions, which are the same on every machine."""

from tests.bench.walk import walks

MOST = {"TryStartMate that starts a job": 153, "SubmitJob with a mate, and its RunJob": 279}


def test_a_request_takes_no_more_calls_than_it_did():
    calls = {name: len(walk.calls) for name, walk in walks().items()}
    assert {name: count for name, count in calls.items() if count > MOST[name]} == {}
