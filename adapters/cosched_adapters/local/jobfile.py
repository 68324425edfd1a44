"""`job.json` says what a supervisor runs, with all decisions made. Imports little: supervisors use it."""

from __future__ import annotations

from cosched_adapters.local import files

NAME = "job.json"
TOKEN = "COSCHED_LAUNCH"  # the variable that identifies all processes of a launch
MAX_SECONDS = 1 << 31


class JobFile:
    """One launch. Texts may hold bytes that are not UTF-8, as surrogates."""

    def __init__(
        self,
        *,
        job_id: str,
        token: str,  # random, also in the job's environment
        boot: str,  # the boot of the host when it was launched
        arguments: list[str],  # command and arguments; for a script, its arguments
        script: bool,  # whether to run the file `script`
        environment: dict[str, str],
        directory: str,
        output: str,
        error: str | None,
        walltime: int,  # seconds
        grace: int,  # milliseconds between SIGTERM and SIGKILL
        uid: int | None,  # None: no change of user
        groups: list[int],  # of that user, the primary group first
        slots: list[int],
        group: str | None = None,  # the control group to run in
        nice: int = 0,  # by so much nicer than the service
    ) -> None:
        self.job_id = job_id
        self.token = token
        self.boot = boot
        self.arguments = arguments
        self.script = script
        self.environment = environment
        self.directory = directory
        self.output = output
        self.error = error
        self.walltime = walltime
        self.grace = grace
        self.uid = uid
        self.groups = groups
        self.slots = slots
        self.group = group
        self.nice = nice

    def write(self, folder: str) -> None:
        """Write it into the job's folder, without flushing it to disk; OSError."""
        files.write_json(f"{folder}/{NAME}", dict(vars(self)), settle=False)


def read(folder: str) -> JobFile:
    """Read it from the job's folder; BadFileError if it is missing or cannot be used."""
    data = files.read_json(f"{folder}/{NAME}")
    if data is None:
        raise files.BadFileError(f"{NAME}: missing")
    arguments = [files.text(item, "arguments") for item in files.items(data, "arguments")]
    script = data.get("script") is True
    if not arguments and not script:
        raise files.BadFileError("arguments: nothing to run")
    environment = files.section(data, "environment")
    token = files.text(data, "token", 64)
    if len(token) < 16:
        raise files.BadFileError("token: too short")
    return JobFile(
        job_id=files.text(data, "job_id", 128),
        token=token,
        boot=files.text(data, "boot", 64),
        arguments=arguments,
        script=script,
        environment={_variable(name): files.text(environment, name) for name in environment},
        directory=files.text(data, "directory", 4096),
        output=files.text(data, "output", 4096),
        error=None if data.get("error") is None else files.text(data, "error", 4096),
        walltime=files.whole(data, "walltime", 1, MAX_SECONDS),
        grace=files.whole(data, "grace", 0, MAX_SECONDS),
        uid=files.whole_or_none(data, "uid"),
        groups=numbers(data, "groups"),
        slots=numbers(data, "slots"),
        group=files.text_or_none(data, "group"),
        nice=files.whole_or_none(data, "nice") or 0,
    )


def _variable(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise files.BadFileError("environment: a name that is none")
    return name


def numbers(data: dict[str, object], key: str) -> list[int]:
    """Return a list of whole numbers; BadFileError."""
    return [files.whole(item, key) for item in files.items(data, key)]
