"""The names at which browsers and programs reach this host over HTTP."""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

_PORT = re.compile(r":\d{1,5}$")


class HostNames:
    """The names of this host. Behind another, a foreign web site may have led a browser here by a name of its own."""

    def __init__(self, *also: str) -> None:
        """`also`: more names, in lower case, or addresses."""
        self._names = {"localhost", socket.gethostname().lower(), socket.getfqdn().lower(), *also}

    def have(self, host: str) -> bool:
        """Return whether `host`, the value of the Host header, is a name of this host, or an address."""
        name = _PORT.sub("", host).strip("[]").lower()
        if name in self._names:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True
