"""The programs of the real run compute what one program does, whatever their strips; namespaces carry what is set."""

import os
import subprocess
from dataclasses import asdict

import numpy as np
import pytest

from cosched.planning.application import Map
from cosched.planning.grid import Machine
from cosched.words.errors import InputError
from cosched_papers.studies.dail2002.design import WORDS
from cosched_papers.studies.dail2002.real.machine import KERNELS, start_of
from cosched_papers.studies.dail2002.real.machines import WARM, Machines, at_port
from cosched_papers.studies.dail2002.real.network import Network
from cosched_papers.studies.dail2002.real.running import Run
from cosched_papers.studies.dail2002.real.section import real_section
from tests.live.services import free_port

SIZE, ITERATIONS = 23, 6


def slowly(kernel: str, iterations: int) -> list[list]:
    """Element by element, by the rules' words."""
    grid = start_of(kernel, SIZE, 0, SIZE)[1:-1].tolist()
    for _ in range(iterations):
        before = [list(row) for row in grid]

        def at(row, column, before=before):
            return before[row][column] if 0 <= row < SIZE and 0 <= column < SIZE else 0

        for row in range(SIZE):
            for column in range(SIZE):
                if kernel == "life":
                    near = sum(at(row + r, column + c) for r in (-1, 0, 1) for c in (-1, 0, 1)) - at(row, column)
                    grid[row][column] = int(near == 3 or (near == 2 and at(row, column)))
                elif 0 < row < SIZE - 1 and 0 < column < SIZE - 1:
                    near = [at(row - 1, column), at(row + 1, column), at(row, column - 1), at(row, column + 1)]
                    grid[row][column] = sum(near) / 4
    return grid


@pytest.fixture(scope="module")
def machines():
    names = ("a", "b", "c", "d")
    with Machines(dict.fromkeys(names, ()), {name: ("127.0.0.1", free_port()) for name in names}) as made:
        yield made


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("shares", "between"),
    [
        ((SIZE,), ()), ((1, 22), (1.0,)), ((9, 1, 1, 12), (0.1, 0.3, 0.2)), ((5, 6, 12), (0.2, 0.2)),
        ((2, 2, 2, 17), (3, 2, 1)),
    ],
)  # fmt: skip
def test_strips_have_the_data_that_one_program_has(machines, kernel, shares, between):
    chosen = Map(tuple(Machine(name, "", 1, 1, 1) for name in "abcd"[: len(shares)]), shares)
    seconds, rows = machines.run(kernel, SIZE, chosen, [0.0] * len(shares), between, ITERATIONS, tell=True)
    assert seconds > 0
    assert np.allclose(rows, slowly(kernel, WARM + ITERATIONS), rtol=0, atol=1e-12)
    assert rows != slowly(kernel, WARM + ITERATIONS - 1)


def test_an_iteration_takes_at_least_as_long_as_the_rows_of_the_slowest_machine(machines):
    chosen = Map(tuple(Machine(name, "", 1, 1, 1) for name in "ab"), (3, 20))
    assert machines.run("jacobi", SIZE, chosen, [0.01, 0.001], [0.1], 2)[0] >= 0.03


def test_a_map_is_off_by_its_measured_time():
    told = [
        Run("jacobi", 1, "user", 12, True, 2.0, 2.2), Run("jacobi", 1, "static", 16, True, 1.0, 1.0),
        Run("jacobi", 1, "dynamic", 15, False, 1.25, 1.1), Run("life", 1, "user", 12, True, 1.0, 1.0),
        Run("life", 1, "static", 16, True, 1.0, 1.0), Run("life", 1, "dynamic", 15, False, 1.0, 1.0),
    ]  # fmt: skip
    section = real_section(list(map(asdict, told)), WORDS["real"])
    assert "Over 6 maps the measured time is off by 3.7 % of the predicted one in the mean, and by 12.0 % at most." in (
        section.text
    )
    strategies, maps = section.tables
    assert [row[3] for row in strategies.rows[:3]] == ["120", "0", "10.0"]
    assert maps.rows[2] == ["jacobi 1", "dynamic", "15", "no", "1.250", "1.100", "-12.0"]


@pytest.mark.soak
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make network namespaces")
def test_links_carry_no_more_than_they_give_and_nothing_is_left():
    with Network({"x": ["a", "b"], "y": ["c"]}) as network:
        for link, mbits in ((("x", "x"), 8.0), (("y", "y"), 8.0), (("x", "y"), 2.0)):
            network.give(link, mbits)
        commands = {name: network.inside(name) for name in network.addresses}
        with Machines(commands, at_port(network.addresses)) as machines:
            inside, between = machines.probe("a", "b", 50_000), machines.probe("a", "c", 50_000)
            assert 0 < between.bandwidth < 2.3
            assert between.bandwidth < inside.bandwidth < 9.2
            network.give(("x", "y"), 0.5)
            assert machines.probe("c", "b", 20_000).bandwidth < 0.6
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert f"cosched{os.getpid()}" not in left


def test_where_namespaces_are_not_permitted_one_line_says_so(tmp_path, monkeypatch):
    (tmp_path / "ip").write_text('#!/bin/sh\necho "mount: Operation not permitted" >&2\nexit 1\n')
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as refused, Network({"x": ["a"]}):
        raise AssertionError
    command = f"ip netns add cosched{os.getpid()}r0"
    assert str(refused.value) == (
        f"--real: is not permitted here, or not possible: {command}: mount: Operation not permitted"
    )
    (tmp_path / "ip").unlink()
    with pytest.raises(InputError, match="--real: needs the command ip, of the package iproute2"), Network({"x": []}):
        raise AssertionError
