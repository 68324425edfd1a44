"""The public job logs, against numbers counted once with awk over the files."""

import pytest

from cosched_sim.workload.traces import clean, machine_nodes, read_trace, write_swf

# File, processors per node: jobs in the file, nodes, jobs kept, jobs left out for want of a run time; then
# over the kept jobs the sums of run, of run cut at the request, and of nodes.
COUNTED = {
    ("ANL-Intrepid-2009-1.first3000", 4): (3000, 40960, 3000, 0, 14917628, 14917628, 4748736),
    ("ANL-Mira-2018", 1): (22508, 49152, 22508, 0, 181612328, 181206667, 39539952),
    ("ANL-Theta-2022-cqsim", 1): (23911, 4360, 23911, 0, 194465247, 192711224, 7440818),
    ("ANL-Theta-2023", 1): (23387, 4392, 23387, 0, 125900368, 125675298, 3442157),
    ("CEA-Curie-2011-2.1-cln", 1): (
        312826, 93312, 295540, 17286, 1926262815, 1925020760, 183907604
    ),
    ("CTC-SP2-1996-3.1-cln.nowait", 1): (77199, 338, 77199, 0, 868813580, 868813580, 848268),
    ("HPC2N-2002-2.first-alea", 1): (3170, 240, 3145, 25, 31853357, 31826209, 62449),
    ("KTH-SP2-1996-2", 1): (28489, 100, 28481, 8, 252883787, 252339555, 218206),
    ("LANL-Trinity-2016-opensci.status1", 32): (21247, 9408, 21247, 0, 147867147, 142490584, 2057757),
    ("LLNL-Atlas-2006-2.1-cln", 1): (43778, 9216, 36600, 7178, 219985709, 219867226, 16430400),
    ("LLNL-Atlas-2006-2.1-cln", 8): (43778, 1152, 36600, 7178, 219985709, 219867226, 2053800),
    ("NASA-iPSC-1993-3.1-cln", 1): (18239, 128, 18066, 173, 13950781, 13950781, 303638),
    ("SDSC-SP2-1998.first5000", 1): (4961, 128, 4606, 355, 38291757, 38188540, 57988),
    ("UniLu-Gaia-2014-1", 1): (51987, 2004, 51859, 128, 744533231, 744451445, 516754),
    ("lublin_256", 1): (10000, 256, 10000, 0, 48627667, 48627667, 221010),
    ("lublin_256_new2", 1): (10000, 256, 10000, 0, 16959554, 16959554, 390073),
}  # fmt: skip


@pytest.mark.parametrize(("name", "procs_per_node"), COUNTED)
def test_counts(traces, name, procs_per_node):
    jobs, nodes, kept, left_out, run, run_cut, job_nodes = COUNTED[name, procs_per_node]
    log = read_trace(traces / f"{name}.swf.gz")
    assert len(log) == jobs
    assert machine_nodes(log, procs_per_node) == nodes
    workload = clean(log, nodes, procs_per_node)
    assert len(workload) == kept
    assert workload.rejected == ({"no_run_time": left_out} if left_out else {})
    assert int(workload.run.sum()) == run
    assert int(workload.nodes.sum()) == job_nodes
    assert (workload.run <= workload.requested).all()
    assert (workload.submit[1:] >= workload.submit[:-1]).all()
    assert int(clean(log, nodes, procs_per_node, "kill").run.sum()) == run_cut


def test_a_notice_in_a_header_survives_a_copy(traces, tmp_path):
    log = read_trace(traces / "SDSC-SP2-1998.first5000.swf.gz")
    write_swf(log, tmp_path / "copy.swf")
    text = (tmp_path / "copy.swf").read_text()
    assert "; Copyright: JOBLOG Repository Data Usage Agreement:\n" in text
    assert ";   provided that this copyright notice is preserved in all copies and\n" in text
    copy = read_trace(tmp_path / "copy.swf")
    assert copy.header == {**log.header, "MaxJobs": "4961", "MaxRecords": "4961"}
    assert (copy.requested_time == log.requested_time).all()
