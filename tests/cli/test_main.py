"""The command itself: help, exit codes, and how it ends when something is in its way."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

import cosched as package
from cosched.cli.commands import commands
from tests.cli.conftest import CONSOLE_SCRIPT, swf
from tests.live.services import wait_until

SIMULATOR = pytest.mark.sim
OF_TRACES = [("trace", name) for name in ("info", "convert", "pair")]
COMMANDS = [
    ("--help",),
    *((*name, "-h") for name in [(), ("certs", "issue"), *((name,) for name in commands())]),
    *(pytest.param((*line, "-h"), marks=SIMULATOR) for line in OF_TRACES),
]


@pytest.mark.parametrize("line", COMMANDS)
def test_help(cosched, line):
    *command, option = line
    result = cosched(*command, option)
    assert result.stdout.startswith(f"Usage: {' '.join(['cosched', *command])}")
    assert max(len(line) for line in result.stdout.splitlines() if " cosched " not in line) <= 80, "but for examples"


def test_version(console):
    result = console("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"cosched {package.__version__}\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--nonsense",),
        ("submit", "--nonsense"),
        ("queue", "extra"),
        ("certs", "issue"),
        *(
            pytest.param(line, marks=SIMULATOR)
            for line in [
                ("trace", "convert", "in.swf"),
                ("trace", "generate", "mira", "out.swf"),
                ("trace", "info", "a.swf", "--format", "xls"),
                ("replay", "--domain", "a,trace=a", "--overrun", "what"),
            ]
        ),
    ],
)
def test_wrong_usage_is_told_in_one_line_as_other_failures_are(refused, arguments):
    group = {"--nonsense": 0, "trace": 2, "certs": 2}.get(arguments[0], 1)
    command = " ".join(["cosched", *arguments[:group]])
    assert refused(*arguments).endswith(f" Try '{command} -h'")


def test_a_missing_file_by_the_console_script(console):
    result = console("serve", "--config", "none.toml")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "cosched: none.toml: cannot be read: No such file or directory\n"


@SIMULATOR
def test_a_closed_pipe_ends_it_quietly(tmp_path):
    (tmp_path / "a.swf").write_text(swf(*[(number, number, 1, 1) for number in range(1, 20_001)]))
    with subprocess.Popen(
        [CONSOLE_SCRIPT, "trace", "convert", tmp_path / "a.swf", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=600) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("line", "named"),
    [
        *(("-h", ""), ("--version", ""), ("certs -h", ""), ("submit -h", ""), ("files out", "standard output: ")),
        pytest.param("trace info a.swf", "standard output: ", marks=SIMULATOR),
        pytest.param("trace convert a.swf -", "standard output: ", marks=SIMULATOR),
    ],
)
def test_output_on_a_full_disk(tmp_path, console, line, named):
    (tmp_path / "a.swf").write_text(swf((1, 0, 10, 1)))
    with open("/dev/full", "w") as full:
        result = console(*line.split(), capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (1, f"cosched: {named}No space left on device\n")


def unread(pipe):
    """The bytes in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def sleeps(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@SIMULATOR
def test_an_interrupt():
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([CONSOLE_SCRIPT, "trace", "info", "-"], text=True, **pipes) as process:
        # It reads from here once it has begun; then the next read waits.
        process.stdin.write(";\n" * 1_000_000)
        process.stdin.flush()
        wait_until(lambda: not unread(process.stdin) and sleeps(process.pid), "it has read all, and waits for more")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=600) == 130
        assert process.stderr.read() == "cosched: interrupted\n"
        assert process.stdout.read() == ""


def test_exit_codes_are_in_the_help(cosched):
    assert re.search(r"0 done, 1 the operation failed, 2 wrong usage", cosched("-h").stdout)


@pytest.mark.parametrize(
    ("name", "said"),
    [("qeue", "did you mean queue?"), ("sumbit", "did you mean submit?"), ("xyzzy", "cosched -h lists all")],
)
def test_an_unknown_command_is_one_line(refused, name, said):
    assert refused(name) == f"no command is called {name!r}; {said}"
