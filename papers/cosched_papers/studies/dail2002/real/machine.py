"""A machine's program, run as a script: its strip of the data, rows exchanged over TCP, orders by standard input.

An order is a line of JSON, and so is its answer. A slower machine is imitated: after each iteration the program waits
until as much time has passed as that machine would take for its rows. It needs NumPy alone, so that it begins soon.
"""

import json
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PORT = 7000
BACKLOG = 8
PATIENCE = 600.0  # seconds for a neighbour
Strip = np.ndarray[Any, np.dtype[Any]]  # its rows between two more, which are those of its neighbours


def start_of(kernel: str, size: int, first: int, rows: int) -> Strip:
    """Return the strip of rows from `first` on at the beginning, with a row before and after it."""
    row, column = np.ogrid[first - 1 : first + rows + 1, :size]
    if kernel == "jacobi":
        return np.asarray(((31 * row + 17 * column) % 97) / 97.0)
    alive: Strip = ((row * row + 3 * column + row * column) % 3 == 0).astype(np.int32)
    alive[(row[:, 0] < 0) | (row[:, 0] >= size)] = 0
    return alive


def jacobi(strip: Strip, size: int, first: int) -> Strip:
    """Return the next strip: each element is the mean of its four neighbours; those on the edges stay."""
    after = strip.copy()
    inner = [place for place in range(1, len(strip) - 1) if 0 < first + place - 1 < size - 1]
    if inner:
        low, high = inner[0], inner[-1] + 1
        around = strip[low - 1 : high - 1, 1:-1] + strip[low + 1 : high + 1, 1:-1]
        after[low:high, 1:-1] = (around + strip[low:high, :-2] + strip[low:high, 2:]) / 4
    return after


def life(strip: Strip, size: int, first: int) -> Strip:  # noqa: ARG001
    """Return the next strip: three neighbours give life, and two keep it; all is dead outside."""
    wide = np.pad(strip, ((0, 0), (1, 1)))
    three = wide[:-2] + wide[1:-1] + wide[2:]
    near = three[:, :-2] + three[:, 1:-1] + three[:, 2:] - strip[1:-1]
    after = strip.copy()
    after[1:-1] = (near == 3) | ((near == 2) & (strip[1:-1] == 1))
    return after


KERNELS: dict[str, Callable[[Strip, int, int], Strip]] = {"jacobi": jacobi, "life": life}


class Machine:
    """Carries out orders."""

    def __init__(self, address: str, port: int = PORT) -> None:
        self._server = socket.create_server((address, port), backlog=BACKLOG)
        self._server.settimeout(PATIENCE)

    def do(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carry out an order, and return its answer."""
        orders: dict[str, Callable[..., dict[str, Any]]] = {"run": self._run, "send": self._send, "take": self._take}
        return orders[order.pop("do")](**order)

    def _run(
        self, kernel: str, size: int, first: int, rows: int, unit: float, after_first: bool,
        before: list[Any] | None, after: list[Any] | None, warm: int, iterations: int, tell: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Iterate on a strip; a row takes `unit` seconds. `after`: the address of the next machine of the map.

        `after_first`: it exchanges rows with that machine before it does with the one before. Never with both at once.
        `warm`: so many iterations come first and do not count: until then machines wait for those with slow links.
        """
        right = None if after is None else socket.create_connection(tuple(after), PATIENCE)
        left = None if before is None else self._server.accept()[0]
        turns = [(right, rows, rows + 1, True), (left, 1, 0, False)]
        strip, step = start_of(kernel, size, first, rows), KERNELS[kernel]
        began = 0.0
        for iteration in range(-warm, iterations):
            if iteration == 0:
                began = time.monotonic()
            for link, edge, beyond, speaks in turns if after_first else reversed(turns):
                if link is not None:
                    strip[beyond] = _exchanged(link, strip[edge], speaks=speaks)
            until = time.monotonic() + unit * rows
            strip = step(strip, size, first)
            time.sleep(max(0.0, until - time.monotonic()))
        seconds = time.monotonic() - began
        for link in (left, right):
            if link is not None:
                link.close()
        return {"seconds": seconds, **({"rows": strip[1:-1].tolist()} if tell else {})}

    def _send(self, to: list[Any], size: int, times: int) -> dict[str, Any]:
        """Measure how long it takes to send so many bytes, until the other one says that it has them: each time."""
        took = []
        with socket.create_connection(tuple(to), PATIENCE) as link:
            _at_once(link)
            for _ in range(times):
                began = time.monotonic()
                link.sendall(bytes(size))
                _received(link, 1)
                took.append(time.monotonic() - began)
        return {"seconds": took}

    def _take(self, size: int, times: int) -> dict[str, Any]:
        """Be the other one."""
        with self._server.accept()[0] as link:
            _at_once(link)
            for _ in range(times):
                _received(link, size)
                link.sendall(b".")
        return {}


def _exchanged(link: socket.socket, row: Strip, *, speaks: bool) -> Strip:
    """Send a row and return the neighbour's, one after the other: who `speaks` sends first."""
    _at_once(link)
    if speaks:
        link.sendall(row.tobytes())
    got = np.frombuffer(_received(link, row.nbytes), row.dtype)
    if not speaks:
        link.sendall(row.tobytes())
    return got


def _at_once(link: socket.socket) -> None:
    link.settimeout(PATIENCE)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _received(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (part := link.recv(size - len(data))):
            raise ConnectionError("a neighbour has gone")
        data += part
    return bytes(data)


def main(address: str, port: str = str(PORT)) -> None:
    """Carry out the orders of standard input."""
    machine = Machine(address, int(port))
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        print(json.dumps(machine.do(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
