"""The simulator's commands, which `cosched` finds by the entry-point group `cosched.commands`."""

from cosched.cli.commands import RESEARCHERS, Lazy, Table

_HERE = "cosched_sim.commands"

COMMANDS: Table = {
    "demo": Lazy(f"{_HERE}.demo", "demo", "A minute's look at what coscheduling does.", RESEARCHERS),
    "replay": Lazy(f"{_HERE}.replay", "replay", "Replay job logs of coupled clusters.", RESEARCHERS),
    "report": Lazy(f"{_HERE}.report", "report", "Make the report of a run, a sweep or a study again.", RESEARCHERS),
    "study": Lazy(f"{_HERE}.study", "study", "Carry out the experiments of a paper.", RESEARCHERS),
    "sweep": Lazy(f"{_HERE}.sweep", "sweep", "Replay a whole grid of settings.", RESEARCHERS),
    "trace": Lazy(f"{_HERE}.trace", "trace", "Look at job logs, convert, generate and pair them.", RESEARCHERS),
}
