"""A policy domain that is not cosched's: first come first served, scheme hold, jobs in pairs by name.

It answers the four calls for pairs of `proto/cosched/v1/coscheduling.proto`, and health checks: a domain needs no more.
That it answers UNIMPLEMENTED to others means to its peers: no groups, no slots, no agreed instants, no news. The stubs
are those that `protoc` makes of that file. On other addresses than loopback both sides need TLS.
"""

import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse

from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import coscheduling_pb2_grpc as calls

QUEUED, READY, HOLDING, RUNNING, ENDED = "QUEUING", "READY", "HOLDING", "RUNNING", "ENDED"
LATER = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED


@dataclass
class Job:
    id: str
    owner: str
    nodes: int
    command: list  # of its process
    peer: str = ""  # the domain of its mate; empty: it has none
    pair: str = ""
    mate: str = ""  # its id there
    state: str = QUEUED
    generation: int = 0  # of its hold: each ready state uses one up, since that is reported as HOLDING
    calls: int = 0  # so many mutating calls have left
    hold_until: float = 0.0


class Domain(calls.CoschedulingServiceServicer):
    def __init__(self, name, nodes, file, hold=600.0):
        self.name, self.nodes, self.file, self.hold = name, nodes, file, hold
        self.lock = threading.RLock()  # not held during a call to a peer: two domains would wait for each other
        kept = json.loads(file.read_text()) if file.exists() else {"jobs": [], "answers": {}}
        self.jobs, self.processes = {each["id"]: Job(**each) for each in kept["jobs"]}, {}
        self.answers = kept["answers"]  # by calling job: the number of its last call, and what that was answered

    def serve(self, address, peers):
        self.peers = {name: calls.CoschedulingServiceStub(grpc.insecure_channel(at)) for name, at in peers.items()}
        self.server, alive = grpc.server(ThreadPoolExecutor(8)), health.HealthServicer()
        calls.add_CoschedulingServiceServicer_to_server(self, self.server)
        alive.set("", HealthCheckResponse.SERVING)  # peers ask for no service by name
        health_pb2_grpc.add_HealthServicer_to_server(alive, self.server)
        self.server.add_insecure_port(address)
        self.server.start()

    def submit(self, owner, nodes, command, peer="", pair=""):
        with self.lock:
            job = Job(str(len(self.jobs) + 1), owner, nodes, command, peer, pair)
            self.jobs[job.id] = job
            self.save()
        return job.id

    def save(self):
        made = self.file.with_suffix(".new")
        made.write_text(json.dumps({"jobs": list(map(asdict, self.jobs.values())), "answers": self.answers}))
        made.replace(self.file)

    def step(self):
        """Look for ends of jobs and of holds; then each job that waits has its turn. Call it again and again."""
        with self.lock:
            for job in self.jobs.values():
                process = self.processes.get(job.id)
                if job.state == RUNNING and (process is None or process.poll() is not None):
                    job.state = ENDED
                if job.state in (READY, HOLDING) and time.time() >= job.hold_until:
                    job.state = QUEUED
            waiting = [job for job in self.jobs.values() if job.state == QUEUED]
        for job in waiting:
            with self.lock:
                if not self.fits(job):
                    continue
                job.state, job.generation = READY, job.generation + 1
                job.hold_until = time.time() + self.hold * (1 + int(job.id) % 5 / 20)  # not as long as its mate
                self.save()
            if self.may_start(job):
                self.start(job)
            with self.lock:
                job.state = HOLDING if job.state == READY else job.state
                self.save()

    def fits(self, job):
        used = sum(one.nodes for one in self.jobs.values() if one.state in (READY, HOLDING, RUNNING))
        return job.state == QUEUED and job.nodes <= self.nodes - used

    def start(self, job):
        with self.lock:
            if job.state in (QUEUED, READY, HOLDING):  # else a call of the peer has started it meanwhile
                job.state = RUNNING
                self.save()  # first: what runs by the record is never started again
                self.processes[job.id] = subprocess.Popen(job.command)
        return True

    def may_start(self, job):
        """Algorithm 1, RunJob. Without an answer the job holds, and asks again after its hold."""
        if not job.peer:
            return True
        peer, own = self.peers[job.peer], wire.JobRef(domain=self.name, job_id=job.id)
        try:
            found = peer.GetMateJobId(wire.GetMateJobIdRequest(job=own, pair=job.pair, owner=job.owner), timeout=5)
            if found.lookup != wire.MATE_LOOKUP_FOUND:
                return found.lookup == wire.MATE_LOOKUP_NO_PAIR
            job.mate, of = found.mate.job_id, {"job": found.mate, "caller": own}
            told = peer.GetMateStatus(wire.GetMateStatusRequest(**of), timeout=5)
            if told.status == wire.MATE_STATUS_HOLDING:
                order = wire.StartJobRequest(**of, hold_generation=told.hold_generation)
                return self.ordered(job, peer.StartJob, order)
            if told.status == wire.MATE_STATUS_QUEUING:
                order = wire.TryStartMateRequest(**of, hold_until={"seconds": int(job.hold_until)})
                return self.ordered(job, peer.TryStartMate, order)
            return told.status != wire.MATE_STATUS_UNSUBMITTED  # it runs, has ended, or will not run
        except grpc.RpcError:
            return False

    def ordered(self, job, call, order):
        """Send a call that may start the mate: without an answer again, with the same id, since it may have done so."""
        with self.lock:
            job.calls += 1
            self.save()  # the number is never used again, whatever happens to this domain
        order.request_id = f"{self.name}/{job.id}/{job.calls}"
        while time.time() < job.hold_until:
            try:
                return call(order, timeout=5).started
            except grpc.RpcError as error:
                if error.code() not in LATER:
                    raise
                time.sleep(1)
        return False

    def GetMateJobId(self, request, _):  # noqa: N802
        of = request.job.domain, request.pair, request.owner
        with self.lock:
            job = next((job for job in self.jobs.values() if (job.peer, job.pair, job.owner) == of), None)
            if job is None or not request.pair:
                lookup = wire.MATE_LOOKUP_UNSUBMITTED if request.pair else wire.MATE_LOOKUP_NO_PAIR
                return wire.GetMateJobIdResponse(lookup=lookup)
            if job.mate not in ("", request.job.job_id):
                return wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_NO_PAIR, problem=wire.MATE_PROBLEM_TAKEN)
            job.mate = request.job.job_id
            self.save()
            mate = wire.JobRef(domain=self.name, job_id=job.id)
            return wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=mate)

    def GetMateStatus(self, request, _):  # noqa: N802
        with self.lock:
            job = self.mate(request)
            state = "UNKNOWN" if job is None else HOLDING if job.state == READY else job.state
            generation = 0 if job is None else job.generation
            return wire.GetMateStatusResponse(status=f"MATE_STATUS_{state}", hold_generation=generation)

    def TryStartMate(self, request, _):  # noqa: N802
        return wire.TryStartMateResponse(started=self.once(request, lambda job: job.state != QUEUED or self.fits(job)))

    def StartJob(self, request, _):  # noqa: N802
        def may(job):
            return job.state in (RUNNING, ENDED) or (job.state != QUEUED and job.generation == request.hold_generation)

        return wire.StartJobResponse(started=self.once(request, may))

    def mate(self, request):
        job, caller = self.jobs.get(request.job.job_id), request.caller
        return job if job is not None and (job.peer, job.mate) == (caller.domain, caller.job_id) else None

    def once(self, request, may):
        """Carry out a mutating call: a copy of it gets the same answer, and one of an earlier call a no."""
        caller, _, number = request.request_id.rpartition("/")
        with self.lock:
            last, started = self.answers.get(caller, (0, False))
            if int(number) > last:
                job = self.mate(request)
                started = job is not None and may(job) and self.start(job)
                self.answers[caller] = int(number), started
                self.save()
            return started and int(number) >= last
