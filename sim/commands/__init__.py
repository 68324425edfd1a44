"""The simulator's commands, which `cosched` finds by the entry-point group `cosched.commands`."""

from cosched.cli.commands import Lazy, Table

_HERE = "cosched.sim.commands"

COMMANDS: Table = {
    "compile": Lazy(f"{_HERE}.compile", "compile_kernels", "Compile the schedulers before they are needed."),
    "demo": Lazy(f"{_HERE}.demo", "demo", "A minute's look at what coscheduling does."),
    "replay": Lazy(f"{_HERE}.replay", "replay", "Replay job logs of coupled clusters."),
    "report": Lazy(f"{_HERE}.report", "report", "Make the report of a run, a sweep or a study again."),
    "study": Lazy(f"{_HERE}.study", "study", "Carry out the experiments of a paper."),
    "sweep": Lazy(f"{_HERE}.sweep", "sweep", "Replay a whole grid of settings."),
    "trace": Lazy(f"{_HERE}.trace", "trace", "Look at job logs, convert, generate and pair them."),
}
