"""`cosched watch`, as the installed command: it does not end by itself."""

import json
import signal
import subprocess
from contextlib import contextmanager

from cosched.v1 import domain_pb2
from tests.cli.conftest import CONSOLE_SCRIPT


@contextmanager
def begun(running, *arguments):
    """The command, once it watches; it is left to nobody if the test fails."""
    command = [CONSOLE_SCRIPT, "watch", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            asked = domain_pb2.WatchEventsRequest
            running.wait_for(lambda domain: any(isinstance(request, asked) for request in domain.requests))
            yield process
        finally:
            process.kill()


@contextmanager
def watching(running, *arguments):
    """The command, once it watches; it is interrupted at the end."""
    with begun(running, *arguments) as process:
        yield process
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr.read() == "cosched: interrupted\n"


def test_events_as_they_happen(running):
    running.domain.happen(domain_pb2.EVENT_KIND_STARTED, "before", "17")
    with watching(running) as process:
        running.do(lambda: running.domain.happen(domain_pb2.EVENT_KIND_HELD, "holds \x1b", "17"))
        assert process.stdout.readline().endswith("  intrepid:17   holds \\x1b\n")
        running.do(lambda: running.domain.happen(domain_pb2.EVENT_KIND_PEER, "eureka answers"))
        assert process.stdout.readline().endswith("  -             eureka answers\n")


def test_of_some_jobs_from_the_beginning_as_json(running):
    running.domain.happen(domain_pb2.EVENT_KIND_STARTED, "before", "17")
    running.domain.happen(domain_pb2.EVENT_KIND_STARTED, "other", "18")
    with watching(running, "--json", "--after", "0", "intrepid:17") as process:
        running.do(lambda: running.domain.happen(domain_pb2.EVENT_KIND_HELD, "after", "17"))
        events = [json.loads(process.stdout.readline()) for _ in range(2)]
        told = [(event["sequence"], event["text"], event["job"]) for event in events]
        assert told == [(1, "before", "intrepid:17"), (3, "after", "intrepid:17")]


def test_nobody_reads_any_more(running):
    with begun(running) as process:
        running.do(lambda: running.domain.happen(domain_pb2.EVENT_KIND_PEER, "1"))
        process.stdout.readline()
        process.stdout.close()
        running.do(lambda: running.domain.happen(domain_pb2.EVENT_KIND_PEER, "2"))
        assert process.wait(timeout=600) == 1
        assert process.stderr.read() == ""
