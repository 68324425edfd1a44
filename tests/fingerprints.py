"""Fingerprints of results: `python -m tests.fingerprints [COSCHED] > FILE`, before a change and after it, then `diff`.

A change of structure changes no schedule and no figure. This runs a fixed set of replays, live replays, sweeps and the
quick study through the installed command, and prints a SHA-256 for each file of results. What depends on the machine
or the run is left out: timings, the command line, and pictures.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

TRACES = Path(__file__).resolve().parents[1].parent / "shared" / "traces"
INTREPID = "intrepid,trace=generated:intrepid/days=10"
EUREKA = "eureka,trace=generated:eureka/days=10/utilisation=0.5"
SCHEMES = ("hold", "yield", "off")
SETTINGS = (
    "policy=fcfs",
    "policy=shortest-first,backfill=conservative",
    "backfill=none",
    "node_pool=partitioned:intrepid",
    "release_interval=0",
    "release_order=last,release_jitter=0",
    "max_held_fraction=0.1,max_yields=3",
    "yield_boost=0.5,scheme=yield",
    "mate_patience=1h,on_peer_unreachable=yield",
)
FLUID = (  # a fluid Eureka: alone, beside others without mates, and with mates of jobs of a batch domain
    ("alone", "scheduler=fluid", ()),
    ("beside", "scheduler=fluid,harvesting=low_impact,benefit=on,resize_cost=60", (INTREPID,)),
    ("mates", "scheduler=fluid,harvesting=fair,level=3,scheme=yield", (INTREPID, "--pair-fraction=0.1")),
    ("slots", "scheduler=fluid,model=parabolic,slots=on", (f"{INTREPID},scheme=meet", "--pair-fraction=0.1")),
)
WHAT_IF = """
2d cut intrepid eureka 6h
3d down eureka 40
4d up eureka 40
5d scheme eureka yield
6d drain intrepid 8192
"""
SWEEP = """
pair_window = "2m"
replications = 3
[[domain]]
name = "intrepid"
trace = "generated:intrepid/days=3"
[[domain]]
name = "eureka"
trace = "generated:eureka/days=6/utilisation=0.25"
[grid]
schemes = ["none", "HH", "HY", "YH", "YY"]
"eureka.load" = [0.25, 0.5]
"""
REAL = (("HPC2N-2002-2.first-alea", "SDSC-SP2-1998.first5000"), ("ANL-Mira-2018", "ANL-Theta-2022-cqsim"))
LEFT_OUT = {".html", ".png", ".svg"}


def replays() -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of each replay."""
    for one in SCHEMES:
        for other in SCHEMES:
            domains = ["--domain", f"{INTREPID},scheme={one}", "--domain", f"{EUREKA},scheme={other}"]
            yield f"{one}-{other}", [*domains, "--pair-window", "2m", "--events"]
    for setting in SETTINGS:
        domains = ["--domain", f"{INTREPID},{setting}", "--domain", EUREKA]
        yield setting, [*domains, "--pair-fraction", "0.1", "--seed", "7", "--events"]
    yield "what-if", ["--domain", INTREPID, "--domain", EUREKA, "--pair-window", "2m", "--script", "what-if.txt"]
    short = ["--domain", f"{INTREPID},cut=0..1d", "--domain", f"{EUREKA},cut=0..1d,scheme=yield"]
    yield "live", [*short, "--pair-window", "2m", "--live"]
    for name, setting, others in FLUID:
        mates = [f"--domain={other}" if "trace=" in other else other for other in others]
        yield f"fluid-{name}", [f"--domain={EUREKA},{setting}", *mates, "--events"]
    for big, small in REAL:
        logs = [TRACES / f"{name}.swf.gz" for name in (big, small)]
        if all(log.exists() for log in logs):
            domains = [f"big,trace={logs[0]},cut=0..30d", f"small,trace={logs[1]},cut=0..30d,scheme=yield"]
            yield f"{big}-{small}", [*(f"--domain={domain}" for domain in domains), "--pair-fraction", "0.05"]


def run_all(cosched: str, folder: Path) -> None:
    """Leave the results of everything in `folder`."""
    (folder / "what-if.txt").write_text(WHAT_IF)
    (folder / "sweep.toml").write_text(SWEEP)
    for name, arguments in replays():
        _run(cosched, folder, "replay", *arguments, "--no-report", "--out", f"replay {name}")
    _run(cosched, folder, "sweep", "sweep.toml", "--out", "sweep")
    _run(cosched, folder, "study", "tang2011", "--quick", "--out", "study")


def _run(cosched: str, folder: Path, *arguments: str) -> None:
    print(*arguments, file=sys.stderr)
    subprocess.run([cosched, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def fingerprint(file: Path) -> str:
    """SHA-256 of what the file says of schedules and figures."""
    if file.suffix == ".parquet":
        data = pl.read_parquet(file).write_csv().encode()
    elif file.suffix == ".json":
        data = json.dumps(_lasting(json.loads(file.read_text())), sort_keys=True).encode()
    else:
        data = file.read_bytes()
    return hashlib.sha256(data).hexdigest()


def _lasting(value: object) -> object:
    """JSON without what differs from run to run."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key not in ("timing", "command", "version")}
        return {key: _lasting(part) for key, part in kept.items()}
    return [_lasting(part) for part in value] if isinstance(value, list) else value


def main() -> None:
    """Print a line per file: digest and name."""
    cosched = sys.argv[1] if len(sys.argv) > 1 else str(Path(sys.executable).with_name("cosched"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_all(cosched, folder)
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix not in LEFT_OUT:
                print(fingerprint(file), file.relative_to(folder))


if __name__ == "__main__":
    main()
