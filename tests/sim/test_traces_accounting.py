import pytest

from cosched.words.errors import InputError
from cosched_sim.workload.log_options import LogOptions
from cosched_sim.workload.traces import clean
from cosched_sim.workload.traces.accounting import read_accounting
from cosched_sim.workload.traces.opening import Block

# Shaped like the logs that the two systems write; the names are made up.
COBALT = """\
04/03/2019 00:25:16;Q;327220;Resource_List.ncpus=3000 Resource_List.nodect=3000 \
Resource_List.walltime=1:00:00 account=physics queue=default resource=theta user=ann
04/03/2019 00:25:20;HA;327220;hold_type=user resource=theta start=1554251520.0 user=ann
04/03/2019 00:32:17;S;327220;Resource_List.ncpus=3000 Resource_List.nodect=3000 \
Resource_List.walltime=1:00:00 args= ctime=1554251516.32 cwd=/home/ann etime=1554251516.32 \
exe=/home/ann/nek exec_host="0-4,6-7" group=users \
jobname=nek mode=script qtime=1554251516.32 queue=R.pm2 session=ann start=1554251537.81 user=ann
04/03/2019 00:32:18;TS;327220;location=0-4 resource=theta start=1554251538.0 task_id=9
04/03/2019 00:35:40;E;327220;Exit_status=0 Resource_List.ncpus=3000 Resource_List.nodect=3000 \
Resource_List.walltime=1:00:00 args="start=5 end=\\"7\\" user=eve" ctime=1554251516.32 end=1554251740.88 \
etime=1554251516.32 exec_host="0-4,6-7" jobname=nek qtime=1554251516.32 resources_used.walltime=0:03:23 \
start=1554251537.81 user=ann
"""

PBS = """\
04/16/2025 00:00:00;L;license;floating license hour:0 day:0
04/16/2025 09:23:33;Q;41.pbs;user=bob group="my group" jobname=a job queue=main ctime=1744817013 \
qtime=1744817013 etime=0 Resource_List.ncpus=64 Resource_List.nodect=2 Resource_List.select=2:ncpus=32 \
Resource_List.walltime=04:00:00
04/16/2025 09:23:40;Q;42.pbs;queue=main
04/16/2025 09:23:41;Q;43.pbs;queue=main
04/16/2025 09:23:50;S;41.pbs;user=bob ctime=1744817013 qtime=1744817013 etime=1744817013 start=1744817030 \
Resource_List.nodect=2
04/16/2025 09:30:00;D;42.pbs;requestor=bob@login
04/16/2025 10:00:00;R;41.pbs;
04/16/2025 10:00:10;S;41.pbs;user=bob ctime=1744817013 start=1744819210
04/16/2025 10:10:00;D;41.pbs;requestor=root
04/16/2025 10:10:01;E;41.pbs;user=bob ctime=1744817013 qtime=1744817013 etime=1744817013 start=1744819210 \
Resource_List.nodect=2 Resource_List.walltime=04:00:00 end=1744819801 Exit_status=271 \
resources_used.walltime=00:09:50
04/16/2025 10:10:05;S;43.pbs;user=cy ctime=1744817021 start=1744819805 Resource_List.nodect=1
"""


ARRAY = """\
03/01/2024 00:02:00;Q;11[].pbs;user=bob ctime=120 array_indices=1-3 Resource_List.nodect=1
03/01/2024 00:13:00;E;11[1].pbs;user=bob ctime=120 start=180 end=780 exec_host=n3/0*4 Resource_List.nodect=1
03/01/2024 00:13:00;E;11[2].pbs;user=bob ctime=120 start=180 end=780 exec_host=n3/1*4 Resource_List.nodect=1
03/01/2024 00:13:10;E;11[].pbs;user=bob ctime=120 start=180 end=790 Resource_List.nodect=1
"""

RERUN = """\
03/01/2024 00:00:10;Q;10.pbs;user=ann ctime=10 qtime=10 Resource_List.nodect=2
03/01/2024 00:01:00;S;10.pbs;user=ann ctime=10 qtime=10 start=60 exec_host=n1/0 Resource_List.nodect=1
03/01/2024 00:05:00;R;10.pbs;user=ann ctime=10 qtime=10 start=60 end=300 Exit_status=-11
03/01/2024 00:10:00;S;10.pbs;user=ann ctime=10 qtime=300 start=600 exec_host=n1/0+n2/0 Resource_List.nodect=2
03/01/2024 00:30:00;E;10.pbs;user=ann ctime=10 qtime=300 start=600 end=1800 Exit_status=0 exec_host=n1/0+n2/0
03/01/2024 00:30:00;E;12.pbs;user=ann ctime=20 start=600 end=1800 Exit_status=0 Resource_List.nodect=2
"""


def read(text, **options):
    return read_accounting([Block(1, text.split("\n"))], "acct", LogOptions(**options))


def refusal(text):
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def test_cobalt():
    log = read(COBALT)
    assert log.job_id.tolist() == [327220]
    assert log.header == {"UnixStartTime": "1554251516", "Unit": "nodes"}
    assert (log.submit[0], log.wait[0], log.run[0]) == (0, 21, 203)
    assert (log.allocated[0], log.requested_procs[0], log.requested_time[0]) == (3000, 3000, 3600)
    assert (log.status[0], log.user[0], log.line[0]) == (1, 1, 1)


def test_pbs_with_a_rerun_a_deleted_and_an_unfinished_job():
    log = read(PBS)
    assert log.job_id.tolist() == ["41.pbs", "42.pbs", "43.pbs"]
    assert log.header["UnixStartTime"] == "1744817013"
    assert log.run.tolist() == [591, -1, -1]
    assert log.wait.tolist() == [2197, -1, 2784]
    assert log.requested_procs.tolist() == [2, -1, 1]
    assert log.allocated.tolist() == [2, -1, 1]
    assert log.status.tolist() == [5, 5, -1]
    assert log.user.tolist() == [1, -1, 2]
    assert log.line.tolist() == [2, 3, 4]
    assert clean(log, 10).rejected == {"no_run_time": 2}


def test_stamps_are_utc_and_count_where_no_key_states_a_time():
    log = read("01/02/1970 00:00:10;Q;7;queue=a\n01/02/1970 00:00:05;Q;8;queue=a\n")
    assert log.header["UnixStartTime"] == str(86405)
    assert log.submit.tolist() == [5, 0]
    assert log.job_id.tolist() == [7, 8]


def test_a_stamp_of_another_time_zone_does_not_move_the_origin():
    log = read("01/01/1970 00:00:01;Q;1;queue=a\n01/01/1970 05:00:00;E;2;ctime=90 start=100 end=110\n")
    assert log.header["UnixStartTime"] == "90"
    assert log.submit.tolist() == [-89, 0]


@pytest.mark.parametrize(
    ("fields", "unit", "size"),
    [
        ("Resource_List.nodes=4:ppn=8+2:ppn=4", "nodes", 6),
        ("Resource_List.nodes=n1+n2:ppn=2", "nodes", 2),
        ("Resource_List.select=3:ncpus=4 Resource_List.ncpus=12", "nodes", 3),
        ("Resource_List.nodect=5 Resource_List.nodes=4:ppn=8", "nodes", 5),
        ("Resource_List.ncpus=12", "processors", 12),
        ("user=x", "processors", -1),
        # A chunk for each entry: eight on one host, two on two.
        (f"exec_host={'+'.join(f'n1/{i}' for i in range(8))} Resource_List.nodect=8", "nodes", 1),
        ("exec_host=n1/0*4+n2/0*4 Resource_List.select=2:ncpus=4", "nodes", 2),
        ("exec_host=n1/0-3+n2/0-3 Resource_List.nodes=2:ppn=4", "nodes", 2),
        ("exec_host=n1/0*4 Resource_List.ncpus=4", "nodes", 1),
        # A chunk in parentheses: parts of a host are not hosts.
        ("exec_vnode=(n1:ncpus=4:mem=1kb)+(n2:ncpus=4) Resource_List.nodect=2", "nodes", 2),
        ("exec_vnode=(n1[0]:ncpus=4+n1[1]:ncpus=4)+(n1[1]:ncpus=8) Resource_List.nodect=2", "nodes", 1),
        ("exec_host=mom/0*0+mom/1*0 exec_vnode=(x1:ncpus=2)+(x2:ncpus=2) Resource_List.nodect=2", "nodes", 2),
        # Fewer entries than chunks: not all hosts are named.
        ("exec_host=n1/3 Resource_List.select=3:ncpus=1", "nodes", 3),
        ("exec_host=n1/0+n2/0 exec_vnode=(n1:ncpus=1) Resource_List.nodect=2", "nodes", 2),
        # Cobalt names ranges or blocks.
        ('exec_host="0-4,6-7" Resource_List.nodect=7', "nodes", 7),
        ("exec_host=MIR-00000-73FF1-2048 Resource_List.nodect=2048", "nodes", 2048),
    ],
)
def test_sizes(fields, unit, size):
    log = read(f"01/01/2020 00:00:00;E;1;ctime=5 start=10 end=20 {fields}\n")
    assert log.header["Unit"] == unit
    assert log.requested_procs.tolist() == [size]


def test_the_run_time_without_start_or_end_is_the_one_used():
    log = read("01/01/2020 00:00:00;E;1;qtime=5 resources_used.walltime=1:02:03:04\n")
    assert log.run.tolist() == [93784]
    assert log.submit.tolist() == [0]


@pytest.mark.parametrize(
    ("times", "run", "wait"),
    [
        ("start=100 end=400 resources_used.walltime=00:04:50", 300, 90),
        ("start=0 end=400 resources_used.walltime=00:04:50", 290, 100),
        ("start=100 end=0 resources_used.walltime=00:04:50", 290, 90),
        ("start=0 end=0 resources_used.walltime=00:04:50", 290, -1),
        ("start=400 end=100 resources_used.walltime=00:04:50", 290, 390),
        ("start=0 end=400", -1, -1),
        ("start=100 end=0", -1, 90),
        ("start=400 end=100", -1, 390),
    ],
)
def test_a_time_of_0_is_unknown(times, run, wait):
    log = read(f"01/01/2020 00:00:00;E;1;ctime=10 {times} Resource_List.nodect=1\n")
    assert (log.run.tolist(), log.wait.tolist()) == ([run], [wait])


def test_a_start_of_0_does_not_hide_the_one_of_the_start_record():
    log = read("01/01/2020 00:00:00;S;1;ctime=10 start=60\n01/01/2020 00:00:00;E;1;ctime=10 start=0 end=100\n")
    assert (log.run.tolist(), log.wait.tolist()) == ([40], [50])


def test_an_array_is_no_job_and_its_subjobs_are():
    log = read(ARRAY)
    assert log.job_id.tolist() == ["11[1].pbs", "11[2].pbs"]
    assert (log.run.tolist(), log.wait.tolist()) == ([600, 600], [60, 60])
    assert log.remarks == ("left out 1 array: the subjobs are the jobs",)


def test_of_a_job_that_ran_again_the_last_run_counts():
    log = read(RERUN)
    assert log.job_id.tolist() == ["10.pbs", "12.pbs"]
    assert (log.run.tolist(), log.wait.tolist()) == ([1200, 1200], [590, 580])
    assert log.requested_procs.tolist() == [2, 2]
    assert log.remarks == ("left out 1 earlier run: the last run of a job counts (runs=all: each)",)


def test_or_each_run_as_a_job_that_was_submitted_when_it_was_requeued():
    log = read(RERUN, runs="all")
    assert log.job_id.tolist() == ["10.pbs-run1", "10.pbs", "12.pbs"]
    assert (log.submit.tolist(), log.wait.tolist()) == ([0, 290, 10], [50, 300, 580])
    assert (log.run.tolist(), log.requested_procs.tolist()) == ([240, 1200, 1200], [1, 2, 2])
    assert log.remarks == ("1 earlier run counted as jobs, ID-run1, ... (runs=all)",)


def test_a_job_that_was_deleted_while_it_waited_to_run_again_has_run():
    lines = RERUN.splitlines()[:3]
    assert read("\n".join([*lines, "03/01/2024 00:06:00;D;10.pbs;requestor=ann", ""])).run.tolist() == [240]


def test_a_job_without_a_walltime_has_the_limit_of_its_queue_or_the_longest():
    text = "".join(
        f"01/01/2020 00:00:00;E;{job};ctime=5 start=10 end=20 Resource_List.nodect=1 queue={queue} {limit}\n"
        for job, queue, limit in ((1, "a", "Resource_List.walltime=1:00:00"), (2, "a", ""), (3, "b", ""))
    )
    assert read(text).requested_time.tolist() == [3600, 3600, 3600]
    assert read(text, partition_limit={"b": 50}).requested_time.tolist() == [3600, 3600, 50]
    assert read(text.replace("Resource_List.walltime=1:00:00", "")).requested_time.tolist() == [-1, -1, -1]


def test_the_time_zone_of_stamps():
    log = read("07/02/2026 00:00:10;Q;7;queue=a\n", timezone="Europe/Berlin")
    assert log.header["UnixStartTime"] == "1782943210"  # two hours before 00:00:10 UTC
    assert log.local_times == log.header["TimeZoneString"] == "Europe/Berlin"
    assert read("07/02/2026 00:00:10;Q;7;queue=a\n").local_times == "UTC"
    assert read(COBALT).local_times == ""


def test_job_numbers_that_start_again():
    end = "01/01/2020 00:00:00;E;1;ctime={} start=10 end=20\n"
    queued = "01/01/2020 00:00:00;Q;1;ctime={}\n"
    log = read(queued.format(5) + queued.format(5) + end.format(5) + queued.format(50) + end.format(50))
    assert log.submit.tolist() == [0, 45]
    assert log.line.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "'hello' is not DATE TIME;TYPE;ID;key=value ..."),
        ("13/45/2020 00:00:00;Q;1;queue=a", "'13/45/2020 00:00:00' is not a time"),
        ("01/01/2020 00:00:00;E;1;start=soon", "start: 'soon' is not a number"),
        ("01/01/2020 00:00:00;E;1;start=nan", "start: 'nan' is not a number"),
        ("01/01/2020 00:00:00;E;1;Resource_List.nodect=1.5", "Resource_List.nodect: '1.5' is not a whole number"),
        ("01/01/2020 00:00:00;E;1;Resource_List.walltime=1:x", "Resource_List.walltime: '1:x' is not a duration"),
        ("01/01/2020 00:00:00;E;;ctime=1", "'' cannot be a job id"),
        (f"01/01/2020 00:00:00;E;{'x' * 300};ctime=1", f"'{'x' * 37}...' cannot be a job id"),
    ],
)
def test_mistakes_name_the_line(line, reason):
    assert refusal(COBALT + line) == f"acct:6: {reason}"


def test_bad_lines_may_be_skipped():
    bad = "hello\n01/01/2020 00:00:00;E;1;start=soon\n01/01/2020 00:00:00;E;;ctime=1\n"
    log = read(COBALT + bad, skip_bad=3)
    assert len(log) == 1
    lines = "6 ('hello' is not DATE TIME;TYPE;ID;key=value ...), 7 (start: 'soon' is not a number), "
    assert log.remarks == (f"skipped 3 bad lines: {lines}8 ('' cannot be a job id)",)


@pytest.mark.parametrize("text", ["", "\n", "04/16/2025 00:00:00;L;license;floating\n"])
def test_no_jobs(text):
    assert refusal(text) == "acct: no jobs"
