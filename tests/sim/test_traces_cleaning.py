from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.words.errors import InputError
from cosched_sim.workload.jobs import TraceLog
from cosched_sim.workload.traces import REASONS, clean, left_out_messages, machine_nodes

NAMES = ("job_id", "submit", "run", "allocated", "requested_procs", "requested_time")


def log_of(*rows, header=None):
    columns = {name: np.array(values) for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)}
    unknown = np.full(len(rows), -1)
    rest = {"wait": unknown, "status": unknown, "user": unknown, "line": np.arange(len(rows)) + 11}
    return TraceLog(source="t.swf", header=header or {}, **columns, **rest)


def jobs_of(workload):
    columns = (workload.job_id, workload.submit, workload.run, workload.nodes, workload.requested)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def clean_slowly(log, nodes, procs_per_node, overrun, sizes=lambda n: n):
    """The rules of clean, one row after the other."""
    kept, counts, first, seen = [], {}, {}, set()
    columns = [getattr(log, name).tolist() for name in NAMES]
    for line, (job_id, submit, run, allocated, procs, requested) in zip(
        log.line.tolist(), zip(*columns, strict=True), strict=True
    ):
        size = procs if procs > 0 else allocated
        job_nodes = (size + procs_per_node - 1) // procs_per_node
        if 0 < job_nodes <= nodes:
            job_nodes = sizes(job_nodes)
        applies = {
            "no_run_time": run <= 0, "no_size": size <= 0, "larger_than_machine": job_nodes > nodes,
            "negative_submit": submit < 0, "duplicate_id": job_id in seen,
        }  # fmt: skip
        reason = next((reason for reason, found in applies.items() if found), None)
        seen.add(job_id)
        if reason:
            counts[reason] = counts.get(reason, 0) + 1
            first.setdefault(reason, line)
            continue
        if requested <= 0:
            requested = run
        if run > requested:
            run, requested = (run, run) if overrun == "extend" else (requested, requested)
        kept.append((job_id, submit, run, job_nodes, requested))
    return sorted(kept, key=lambda job: job[1]), counts, first


SMALL = st.integers(-2, 6)
ROWS = st.lists(st.tuples(st.integers(1, 6), SMALL, SMALL, SMALL, st.integers(-2, 12), SMALL), min_size=1, max_size=12)


@given(ROWS, st.integers(1, 6), st.integers(1, 3), st.sampled_from(["extend", "kill"]), st.booleans(), st.booleans())
def test_as_the_rules_say_row_by_row(rows, nodes, procs_per_node, overrun, doubled, text_ids):
    log = log_of(*rows)
    if text_ids:
        log = replace(log, job_id=np.array([f"{job_id}_x" for job_id in log.job_id]))
    sizes = (lambda n: n + n % 2) if doubled else (lambda n: n)
    jobs, counts, first = clean_slowly(log, nodes, procs_per_node, overrun, sizes)
    if not jobs:
        with pytest.raises(InputError, match="no job is left"):
            clean(log, nodes, procs_per_node, overrun, sizes)
        return
    workload = clean(log, nodes, procs_per_node, overrun, sizes)
    assert jobs_of(workload) == jobs
    assert workload.rejected == counts
    assert list(workload.rejected) == [reason for reason in REASONS if reason in counts]
    assert workload.first_rejected_line == first
    assert workload.left_out_ids == set(log.job_id.tolist()) - {job[0] for job in jobs}
    assert len(log) == len(workload) + sum(counts.values())


def test_sizes_round_up_what_fits_and_see_nothing_else():
    asked = []

    def blocks(nodes):
        asked.extend(nodes.tolist())
        return -(-nodes // 512) * 512

    log = log_of((1, 0, 9, 1, 1, 9), (2, 0, 9, 1, 513, 9), (3, 0, 9, 1, 5000, 9), (4, 0, 9, -1, -1, 9))
    workload = clean(log, 1024, sizes=blocks)
    assert workload.nodes.tolist() == [512, 1024]
    assert workload.rejected == {"no_size": 1, "larger_than_machine": 1}
    assert asked == [1, 513]
    assert clean(log, 1000, sizes=blocks).rejected == {"no_size": 1, "larger_than_machine": 2}


def test_messages_one_a_reason():
    rows = [(1, 0, 9, 1, 1, 9), (1, 0, 9, 1, 1, 9), (2, -5, 9, 1, 1, 9), (3, -5, 9, 1, 1, 9), (4, 0, 9, 99, -1, 9)]
    assert left_out_messages(clean(log_of(*rows), 4)) == [
        "t.swf: left out 1 job: larger than the machine (first in line 15)",
        "t.swf: left out 2 jobs: negative submit time (first in line 13)",
        "t.swf: left out 1 job: a job id seen before (first in line 12)",
    ]
    assert left_out_messages(clean(log_of(rows[0]), 4)) == []


def test_no_job_is_left():
    with pytest.raises(InputError) as caught:
        clean(log_of((1, 0, 0, 1, 1, 9), (2, 0, 9, 9, 9, 9), (3, 0, -1, 9, 9, 9)), 4)
    assert str(caught.value) == "t.swf: no job is left: no run time (2), larger than the machine (1)"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"nodes": 0}, "at least 1 node, not 0"),
        ({"nodes": 1, "procs_per_node": 0}, "at least 1 processor, not 0"),
        ({"nodes": 1, "overrun": "stop"}, "overrun is extend or kill, not 'stop'"),
    ],
)
def test_options_that_mean_nothing(options, reason):
    with pytest.raises(ValueError, match=reason):
        clean(log_of((1, 0, 9, 1, 1, 9)), **options)


@pytest.mark.parametrize(
    ("header", "procs_per_node", "nodes"),
    [
        ({"MaxProcs": "163840", "MaxNodes": "40960"}, 4, 40960), ({"MaxProcs": "10"}, 4, 3),
        ({"MaxNodes": "256"}, 4, 256), ({"MaxProcs": "-1", "MaxNodes": "256"}, 1, 256), ({"MaxProcs": "0"}, 1, None),
        ({"MaxProcs": "128 (of them 8 for login)"}, 1, 128), ({"MaxProcs": "128\n256"}, 1, 128),
        ({"MaxProcs": "unknown"}, 1, None), ({}, 1, None),
    ],
)  # fmt: skip
def test_the_nodes_that_a_header_states(header, procs_per_node, nodes):
    assert machine_nodes(log_of((1, 0, 9, 1, 1, 9), header=header), procs_per_node) == nodes
