"""HTTP/2 by hand, as no client library speaks it: calls whose message never comes, connections that say nothing."""

import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from cosched.service.wire.tls_files import TlsFiles

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    content: bytes


def frame(kind: int, flags: int = 0, stream: int = 0, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content))[1:] + struct.pack(">BBI", kind, flags, stream) + content


def headers(method: str) -> bytes:
    """Those of a gRPC call, each a literal that is in no table."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": method,
        ":authority": "localhost",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    return b"".join(
        b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )


def dial(target: str, tls: tuple[Path, TlsFiles] | None = None, source: str = "") -> socket.socket:
    """A connection to unix:PATH or HOST:PORT, from the address `source`; with `tls`, its authority and certificate."""
    if target.startswith("unix:"):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(target.removeprefix("unix:"))
        return connection
    host, _, port = target.rpartition(":")
    connection = socket.create_connection((host, int(port)), source_address=(source, 0))
    if tls is None:
        return connection
    ca, files = tls
    context = ssl.create_default_context(cafile=str(ca))
    context.check_hostname = False
    context.load_cert_chain(files._paths[1], files._paths[2])
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(connection)


class RawConnection:
    """A connection on which the test writes the frames."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._left = b""
        self._streams = 0
        self._socket.sendall(PREFACE + frame(SETTINGS))

    def begin(self, method: str) -> int:
        """Begin a call, without its message; the stream."""
        self._streams += 1
        stream = 2 * self._streams - 1
        self._socket.sendall(frame(HEADERS, END_HEADERS, stream, headers(method)))
        return stream

    def end(self, stream: int) -> None:
        """End our side of a call."""
        self._socket.sendall(frame(DATA, END_STREAM, stream))

    def ended(self, patience: float) -> Frame | None:
        """The next frame that ends a call or the connection; None: the connection is closed. TimeoutError."""
        self._socket.settimeout(patience)
        while (got := self._next()) is not None:
            if got.kind == SETTINGS and not got.flags & ACK:
                self._socket.sendall(frame(SETTINGS, ACK))
            elif got.kind == PING and not got.flags & ACK:
                self._socket.sendall(frame(PING, ACK, 0, got.content))
            elif got.kind in (RST_STREAM, GOAWAY) or (got.stream and got.flags & END_STREAM):
                return got
        return None

    def _next(self) -> Frame | None:
        with suppress(ConnectionError):
            head = self._read(9)
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            return Frame(kind, flags, stream, self._read(int.from_bytes(head[:3], "big")))
        return None

    def _read(self, size: int) -> bytes:
        while len(self._left) < size:
            if not (got := self._socket.recv(65536)):
                raise ConnectionResetError
            self._left += got
        taken, self._left = self._left[:size], self._left[size:]
        return taken

    def close(self) -> None:
        self._socket.close()
