"""What was logged in a test, without the noise of others."""

import logging

import pytest


def logged(caplog: pytest.LogCaptureFixture, level: int = logging.NOTSET) -> list[str]:
    """The messages of at least this level.

    gRPC has one queue of completions for all event loops of a process. A loop of an earlier test that is closed by now
    may complain about it at any time; that says nothing of this test.
    """
    records = (record for record in caplog.records if record.levelno >= level)
    return [text for record in records if "PollerCompletionQueue" not in (text := record.getMessage())]
