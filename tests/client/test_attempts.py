"""How long a call is tried: a moment where nobody is, ten seconds where a domain is busy."""

import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from cosched.client import ClientError, Unreachable
from cosched.client.attempts import BUSY_PAUSES, CALL_PAUSES, Attempts


class HangUp(grpc.RpcError):
    """What gRPC says of a connection that is closed at once."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "failed to connect to all addresses; last error: UNKNOWN: unix:s: Socket closed"

    def trailing_metadata(self) -> tuple[()]:
        return ()


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[str]:
    """The address of a socket that somebody listens on, and accepts nothing: its queue is full."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(path)
        listener.listen(0)
        first.connect(path)
        yield f"unix:{path}"


def pauses(server: str) -> tuple[list[float], ClientError]:
    """The pauses between attempts that all fail, and what is said in the end."""
    attempts, taken = Attempts(server, CALL_PAUSES), []
    while True:
        try:
            taken.append(attempts.pause_after(HangUp()))
        except ClientError as error:
            return taken, error


def test_a_domain_that_hangs_up_is_tried_for_ten_seconds(listening: str) -> None:
    taken, said = pauses(listening)
    assert len(taken) == len(CALL_PAUSES) + len(BUSY_PAUSES)
    assert sum(CALL_PAUSES + BUSY_PAUSES) >= 10
    assert isinstance(said, Unreachable)
    assert str(said) == (
        f"{listening} cannot be reached: it hangs up, with too many connections, perhaps of yours; try again later"
    )


def test_where_nobody_listens_the_call_fails_soon(tmp_path: Path) -> None:
    taken, said = pauses(f"unix:{tmp_path}/none")
    assert len(taken) == len(CALL_PAUSES)
    assert str(said).endswith("Socket closed")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        there = f"127.0.0.1:{listener.getsockname()[1]}"
        assert len(pauses(there)[0]) > len(CALL_PAUSES)
    assert len(pauses(there)[0]) == len(CALL_PAUSES)
