"""Calls of a domain's Unix socket by other users of this host.

Each user calls from a process of its own, which the kernel knows as that user's: started by root (who alone can read
the software, perhaps), it becomes the user before it connects.

    python -m tests.live.other_users USER SERVER < JSON [[method, request], ...] > JSON [outcome, ...]
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from cosched.client.connection import open_channel
from cosched.v1 import adaptive_pb2, domain_pb2, run_times_pb2
from cosched.v1.adaptive_pb2_grpc import AdaptiveServiceStub
from cosched.v1.domain_pb2_grpc import DomainServiceStub
from cosched.v1.run_times_pb2_grpc import RunTimesServiceStub
from cosched.words.error_details import error_info
from tests.live.services import PATIENCE

USERS = ("daemon", "nobody")  # of every host
SERVICES = (
    (domain_pb2, DomainServiceStub), (adaptive_pb2, AdaptiveServiceStub), (run_times_pb2, RunTimesServiceStub),
)  # fmt: skip
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


class Outcome(NamedTuple):
    """How a call ended: "OK" and the answer as JSON, or code, reason and field of the error."""

    code: str
    reason: str = ""
    field: str = ""
    answer: dict[str, Any] | None = None


def call(
    stub: DomainServiceStub | AdaptiveServiceStub | RunTimesServiceStub,
    method: str,
    request: Message,
    timeout: float = PATIENCE,
) -> Outcome:
    """Make a call and tell how it ended."""
    try:
        answer = getattr(stub, method)(request, timeout=timeout)
    except grpc.RpcError as error:
        reason, metadata = error_info(error) or ("", {})
        return Outcome(error.code().name, reason, metadata.get("field", ""))
    return Outcome("OK", answer=json_format.MessageToDict(answer, preserving_proto_field_name=True))


def call_as(user: str, server: str, calls: Sequence[tuple[str, Message]]) -> list[Outcome]:
    """Make these calls, one after the other, as that user."""
    requests = [[method, json_format.MessageToDict(request)] for method, request in calls]
    done = subprocess.run(
        [sys.executable, "-m", __name__, user, server],
        input=json.dumps(requests), capture_output=True, text=True, timeout=PATIENCE, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Outcome(*outcome) for outcome in json.loads(done.stdout)]


@contextmanager
def a_public_folder() -> Iterator[Path]:
    """A folder that everybody can enter and write to."""
    folder = Path(tempfile.mkdtemp(prefix="cosched-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def acting_as(user: str) -> Iterator[None]:
    """Let this process, which is root's, be that user's for the block."""
    uid = pwd.getpwnam(user).pw_uid
    os.setresuid(uid, uid, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def become(user: str) -> None:
    """Turn this process, which is root's, into one of that user."""
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setresgid(entry.pw_gid, entry.pw_gid, entry.pw_gid)
    os.setresuid(entry.pw_uid, entry.pw_uid, entry.pw_uid)


def _main(user: str, server: str) -> None:
    requests = json.load(sys.stdin)
    become(user)
    with open_channel(grpc, server, None) as channel:
        json.dump([_called(channel, method, request) for method, request in requests], sys.stdout)


def _called(channel: grpc.Channel, method: str, request: dict[str, Any]) -> Outcome:
    messages, stub = next((m, s) for m, s in SERVICES if hasattr(m, f"{method}Request"))
    return call(stub(channel), method, json_format.ParseDict(request, getattr(messages, f"{method}Request")()))


if __name__ == "__main__":
    _main(*sys.argv[1:])
