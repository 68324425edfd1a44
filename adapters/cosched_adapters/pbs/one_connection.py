"""Does what some commands of PBS do, over one connection to the server; pbs_python runs it, not the service.

Each command of PBS connects anew, from a port below 1024, which then rests for a minute: a host has not many more than
a dozen commands a second, and those that find no port wait. It also takes tens of milliseconds to start one.

A line of input is a command, as JSON: [number, ["qrun", ...]]. Its answer is a line, too: [number, exit code, text].
qstat and pbsnodes answer with what the service needs, in the form of their JSON; instants are seconds since 1970.
"""

import ctypes
import json
import os
import re
import sys
import time
from typing import Any

COMMANDS, OBJECTS = {"set": 2, "unset": 3}, {"server": 0, "node": 3}  # by pbs_ifl.h
OPERATIONS = {"=": 0, "+=": 2, "-=": 3, "": 0}
LINE = re.compile(r"(set|unset|list) (?:(server)|(node) (\S+)) (.+)")
ATTRIBUTE = re.compile(r'(\w+)(?:\.(\w+))?(?: (\+=|-=|=) (?:"([^"]*)"|([^",]+)))?')
PROTOCOL_ERROR = 15031
IDLE = 60.0  # seconds: the server ends a connection that is idle for long
NO_SERVER = "cannot connect to server"
UNKNOWN, UNKNOWN_JOB = 15001, 153  # the library's error number, and qstat's exit code
OF_A_JOB = ["Job_Name", "Job_Owner", "job_state", "substate", "exec_vnode", "Resource_List", "Exit_status"]
OF_A_JOB += ["qtime", "ctime", "stime", "obittime", "history_timestamp", "estimated", "comment", "queue"]
OF_A_JOB += ["Account_Name", "project", "Rerunable"]
OF_A_NODE = ["state", "comment", "resources_available", "resources_assigned"]


class LostError(Exception):
    """There is no connection, or it has been lost."""


class UnknownJobError(Exception):
    """The server does not know the job."""


class Attribute(ctypes.Structure):
    """`attrl` and `attropl` of pbs_ifl.h."""


Attribute._fields_ = [
    ("next", ctypes.POINTER(Attribute)),
    ("name", ctypes.c_char_p),
    ("resource", ctypes.c_char_p),
    ("value", ctypes.c_char_p),
    ("operation", ctypes.c_int),
]


class Status(ctypes.Structure):
    """`batch_status` of pbs_ifl.h."""


Status._fields_ = [
    ("next", ctypes.POINTER(Status)),
    ("name", ctypes.c_char_p),
    ("attributes", ctypes.POINTER(Attribute)),
    ("text", ctypes.c_char_p),
]


def library() -> Any:
    """Return libpbs of the installation that pbs.conf names."""
    with open(os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf")) as file:
        conf = dict(line.strip().split("=", 1) for line in file if "=" in line)
    found = ctypes.CDLL(os.path.join(conf["PBS_EXEC"], "lib", "libpbs.so"))
    found.pbs_geterrmsg.restype = ctypes.c_char_p
    for name in ("pbs_statserver", "pbs_statjob", "pbs_statvnode"):
        getattr(found, name).restype = ctypes.POINTER(Status)
    getattr(found, "__pbs_errno_location").restype = ctypes.POINTER(ctypes.c_int)
    return found


class Server:
    """The server, and our connection to it."""

    def __init__(self) -> None:
        self.pbs = library()
        self.errno = getattr(self.pbs, "__pbs_errno_location")
        self.connection = -1
        self.used = 0.0

    def connect(self) -> None:
        """Have a connection. LostError."""
        if self.connection >= 0 and time.monotonic() > self.used + IDLE:
            self.disconnect()
        if self.connection < 0:
            self.connection = self.pbs.pbs_connect(None)
        if self.connection < 0:
            raise LostError
        self.used = time.monotonic()

    def disconnect(self) -> None:
        """End the connection."""
        self.pbs.pbs_disconnect(self.connection)
        self.connection = -1

    def did(self, code: int) -> "tuple[int, str]":
        """Return what a call has answered. LostError."""
        said: bytes = self.pbs.pbs_geterrmsg(self.connection) or b""
        error = self.errno()[0] if code else 0
        if error == PROTOCOL_ERROR or (code and not said):
            self.disconnect()
            raise LostError
        return (1, said.decode(errors="replace")) if code else (0, "")

    def run(self, vnodes: str, job: str) -> "tuple[int, str]":
        """Start a job on these nodes."""
        return self.did(self.pbs.pbs_runjob(self.connection, job.encode(), vnodes.encode(), None))

    def manage(self, verb: str, kind: str, name: str, attributes: Any) -> "tuple[int, str]":
        """Set or unset attributes of an object."""
        what = COMMANDS[verb], OBJECTS[kind], name.encode(), attributes, None
        return self.did(self.pbs.pbs_manager(self.connection, *what))

    def shown(self, found: Any) -> "dict[str, dict[str, Any]]":
        """Return the objects that a call has found, by name. LostError, UnknownJobError."""
        error = self.errno()[0] if not found else 0
        if error == UNKNOWN:
            raise UnknownJobError
        if error:
            self.did(-1)
        objects, status = {}, found
        while status:
            objects[text(status[0].name)] = fields(status[0].attributes)
            status = status[0].next
        self.pbs.pbs_statfree(found)
        return objects

    def attribute(self, name: str) -> "tuple[int, str]":
        """Return an attribute of the server, as qmgr shows it."""
        servers = self.shown(self.pbs.pbs_statserver(self.connection, wanted([name]), None))
        lines = [f"Server {server}\n    {name} = {found.get(name, '')}" for server, found in servers.items()]
        return 0, "\n".join(lines)

    def jobs(self, job: str, extend: "bytes | None") -> "tuple[int, str]":
        """Return a job, or all (""); with `extend` those that have ended, too."""
        found = self.pbs.pbs_statjob(self.connection, job.encode() or None, wanted(OF_A_JOB), extend)
        try:
            return 0, json.dumps({"Jobs": self.shown(found)})
        except UnknownJobError:
            return UNKNOWN_JOB, "{}"

    def nodes(self) -> "tuple[int, str]":
        """Return all nodes."""
        found = self.pbs.pbs_statvnode(self.connection, b"", wanted(OF_A_NODE), None)
        return 0, json.dumps({"nodes": self.shown(found)})


def text(raw: "bytes | None") -> str:
    """Return what the library says."""
    return (raw or b"").decode(errors="replace")


def fields(attribute: Any) -> "dict[str, Any]":
    """Return a chain of attributes by name, resources as dicts."""
    found: dict[str, Any] = {}
    while attribute:
        one = attribute[0]
        if one.resource:
            found.setdefault(text(one.name), {})[text(one.resource)] = text(one.value)
        else:
            found[text(one.name)] = text(one.value)
        attribute = one.next
    return found


def wanted(names: "list[str]") -> Any:
    """Return these names of attributes, as the library wants them."""
    chain: Any = None
    for name in names:
        chain = ctypes.pointer(Attribute(chain, name.encode(), b"", b"", 0))
    return chain


def attributes_of(text: str) -> Any:
    """Return the attributes of a line of qmgr, as the library wants them."""
    chain: Any = None
    for name, resource, sign, quoted, bare in reversed(ATTRIBUTE.findall(text)):
        value = (quoted or bare).strip().encode()
        words = name.encode(), resource.encode() or None, value, OPERATIONS[sign]
        chain = ctypes.pointer(Attribute(chain, *words))
    return chain


def manage(server: Server, line: str) -> "tuple[int, str]":
    """Do what a line of qmgr says."""
    match = LINE.fullmatch(line)
    if match is None:
        return 1, "this line is not known here"
    verb, kind, names, attributes = match[1], match[2] or match[3], match[4] or "", attributes_of(match[5])
    if verb == "list":
        return server.attribute(match[5])
    answer = 0, ""
    for name in names.split(","):
        answer = server.manage(verb, kind, name, attributes)
        if answer[0]:
            break
    return answer


def once(server: Server, argv: "list[str]") -> "tuple[int, str]":
    """Do what a command says. LostError."""
    server.connect()
    if argv[0] == "qrun":
        return server.run(argv[2], argv[3])
    if argv[0] == "qstat":
        return server.jobs("".join(argv[argv.index("json") + 1 :]), b"x" if "-x" in argv else None)
    return server.nodes() if argv[0] == "pbsnodes" else manage(server, argv[2])


def answer(server: Server, argv: "list[str]") -> "tuple[int, str]":
    """Do what a command says; all but qrun once more, if the server has ended our connection."""
    for tries in (1, 2):
        try:
            return once(server, argv)
        except LostError:
            if tries == 2 or argv[0] == "qrun":
                break
    return 1, NO_SERVER


def main() -> None:
    """Answer commands until the input ends."""
    server = Server()
    for line in iter(sys.stdin.readline, ""):
        number, argv = json.loads(line)
        told = json.dumps([number, *answer(server, argv)])
        try:
            print(told, flush=True)
        except BrokenPipeError:  # the service was killed meanwhile
            os._exit(0)  # to flush once more would fail as well


if __name__ == "__main__":
    main()
