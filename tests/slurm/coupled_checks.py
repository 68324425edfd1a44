"""What must be so after every failure: nothing is stuck, and cosched and Slurm say the same."""

from pathlib import Path

from cosched_adapters.slurm.reservations import whose
from deploy.slurm.lab import Domain
from tests.live.coupled import ENDED, known, story, unended
from tests.live.workloads import Work
from tests.slurm.coupled import Coupled

QUICK = {"release_interval": 0, "max_held_fraction": 1, "max_yields": 0, "backoff": 1, "on_peer_unreachable": "start"}
START = {"try_patience": 2.5, "poll_interval": 1, "heartbeat_interval": 1}
AS_SLURM_SAYS = {
    "PENDING": ("queued",),
    "CONFIGURING": ("ready", "holding"),
    "RUNNING": ("running", "starting"),  # its farewell may be on its way
    "COMPLETING": ("running", "completed", "failed", "cancelled"),
}


class Served(Coupled):
    """A coupled laboratory whose services go on from test to test with the same settings."""

    _settings: object = None

    def serve(self, schemes: tuple[str, str] = ("hold", "hold"), **settings: object) -> None:
        """Have services with these settings."""
        wanted = schemes, QUICK | settings
        if wanted != self._settings:
            self.lab.restart(schemes, **QUICK | settings)
            self._settings = wanted


def hold(coupled: Coupled, domain: Domain, work: Work, *options: str) -> str:
    """Submit a job whose mate is not submitted yet, and see it hold."""
    job = coupled.submit(domain, work, *options)
    coupled.until_state(domain, job, "holding")
    return job


def fill(domain: Domain, nodes: int) -> int:
    """Submit a job without a mate that runs on so many nodes until it is cancelled."""
    job = domain.cluster.sbatch("exec sleep 600", f"--nodes={nodes}", "--output=/dev/null")
    domain.cluster.wait_for_state(job, "RUNNING")
    return job


def check_nothing_is_left(coupled: Coupled, messages: int = 0) -> None:
    """No job, no hook, no node that is not idle; so many messages of hooks, and no fault of a service."""
    for domain in coupled.lab:
        domain.cluster.wait_for_no_jobs()
        coupled.until(lambda domain=domain: not hooks_of(domain), f"the end of all hooks of {domain.name}")
        coupled.until(lambda domain=domain: not unended(domain), f"the end of all jobs of {domain.name} by cosched")
        assert "Traceback" not in domain.service.log.read_text()
    said = [line for domain in coupled.lab for line in domain.hooks.messages()]
    for domain in coupled.lab:
        domain.hooks.log.unlink(missing_ok=True)
    assert len(said) == messages, said


def check_cosched_agrees(coupled: Coupled) -> None:
    """What cosched says of each of its jobs becomes what squeue says."""
    coupled.until(lambda: all(_agrees(domain) for domain in coupled.lab), "cosched and squeue to agree")


def _agrees(domain: Domain) -> bool:
    shown = dict(line.split() for line in domain.cluster.squeue("-h", "-o", "%i %T").splitlines())
    jobs = known(domain).values()
    return all(
        job.state in AS_SLURM_SAYS.get(shown[job.id], ()) if job.id in shown else job.state in ENDED for job in jobs
    )


def whys(domain: Domain, job: str) -> list[str]:
    """Why a job has started, each time."""
    return [str(event.detail["why"]) for event in story(domain, job, kinds=["started"])]


def warnings(domain: Domain, *jobs: str) -> list[str]:
    """All that cosched has warned of these jobs."""
    texts = [event.text for event in story(domain, kinds=["warning"])]
    return [text for text in texts if any(text.startswith(f"job {job} ") for job in jobs)]


def reservations_of(domain: Domain) -> list[str]:
    """The names of cosched's reservations."""
    shown = domain.cluster.scontrol("show", "reservations", "-o")
    names = (line.split()[0].partition("=")[2] for line in shown.splitlines() if line)
    return [name for name in names if whose(name)]


def comment_of(domain: Domain, job: str) -> str:
    """A job's comment, as Slurm has it."""
    return domain.cluster.squeue("-h", "-j", job, "-o", "%k").strip()


def hooks_of(domain: Domain) -> list[int]:
    """The hooks of jobs that wait, of whichever jobs."""
    hook = f"{domain.hooks.folder}/cosched-hook\0prolog\0".encode()
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _read(path / "cmdline").startswith(hook)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended
