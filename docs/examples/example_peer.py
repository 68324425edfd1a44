"""A policy domain that is not cosched's: first come first served, scheme hold, jobs in pairs by name.

It answers the four calls for pairs of `proto/cosched/v1/coscheduling.proto`: a domain needs no more. Peers take the
answer UNIMPLEMENTED to all others for: no groups, slots, agreed instants and news. The stubs are those that `protoc`
makes of that file. On other addresses than loopback both sides need TLS.
"""

import shelve
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import grpc

from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import coscheduling_pb2_grpc as calls

QUEUED, READY, HOLDING, RUNNING, ENDED = "QUEUING", "READY", "HOLDING", "RUNNING", "ENDED"
AGAIN = """{"methodConfig": [{"name": [{}], "timeout": "20s", "retryPolicy": {"maxAttempts": 5, "initialBackoff": "1s",
    "maxBackoff": "9s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}"""


class Domain(calls.CoschedulingServiceServicer):
    def __init__(self, name, nodes, file, peers, hold=600.0):
        self.name, self.nodes, self.hold, self.processes = name, nodes, hold, {}
        channels = {peer: grpc.insecure_channel(at, [("grpc.service_config", AGAIN)]) for peer, at in peers.items()}
        self.peers = {peer: calls.CoschedulingServiceStub(channel) for peer, channel in channels.items()}
        self.lock = threading.RLock()  # not held during a call to a peer: two domains would wait for each other
        self.kept = shelve.open(file)  # noqa: SIM115
        self.jobs = self.kept.get("jobs", {})
        self.answers = self.kept.get("answers", {})  # by calling job: its last call's number, and the answer

    def save(self):
        self.kept["jobs"], self.kept["answers"] = self.jobs, self.answers
        self.kept.sync()

    def serve(self, address):
        self.server = grpc.server(ThreadPoolExecutor(8))
        calls.add_CoschedulingServiceServicer_to_server(self, self.server)
        self.server.add_insecure_port(address)
        self.server.start()

    def submit(self, owner, nodes, command, peer="", pair=""):
        with self.lock:
            names = {"id": str(len(self.jobs) + 1), "owner": owner, "peer": peer, "pair": pair, "mate": ""}
            job = SimpleNamespace(**names, nodes=nodes, command=command, state=QUEUED, generation=0, calls=0, until=0.0)
            self.jobs[job.id] = job
            self.save()
        return job.id

    def step(self):
        """Look for ends of jobs and of holds; then each job that waits has its turn. Call it again and again."""
        for job in list(self.jobs.values()):
            with self.lock:
                process = self.processes.get(job.id)
                if job.state == RUNNING and (process is None or process.poll() is not None):
                    job.state = ENDED
                if job.state in (READY, HOLDING) and time.time() >= job.until:
                    job.state = QUEUED
                    continue  # others first
                if not self.fits(job):
                    continue
                job.state, job.generation = READY, job.generation + 1  # is told as HOLDING, with this generation
                job.calls += 1  # the number of a call is never used again, whatever happens to this domain
                job.until = time.time() + self.hold * (1 + int(job.id) % 5 / 20)  # not as long as its mate
                self.save()
            may = self.may_start(job)
            with self.lock:
                if may:
                    self.start(job)
                job.state = HOLDING if job.state == READY else job.state
                self.save()

    def fits(self, job):
        used = sum(one.nodes for one in self.jobs.values() if one.state in (READY, HOLDING, RUNNING))
        return job.state == QUEUED and job.nodes <= self.nodes - used

    def start(self, job):
        if job.state in (QUEUED, READY, HOLDING):  # else a call of the peer has started it meanwhile
            job.state = RUNNING
            self.save()  # first: what runs by the record is never started again
            self.processes[job.id] = subprocess.Popen(job.command)
        return True

    def may_start(self, job):
        """Algorithm 1, RunJob. Without an answer the job holds, and asks again after its hold."""
        peer, own = self.peers.get(job.peer), wire.JobRef(domain=self.name, job_id=job.id)
        try:
            found = peer and peer.GetMateJobId(wire.GetMateJobIdRequest(job=own, pair=job.pair, owner=job.owner))
            if not found or found.lookup != wire.MATE_LOOKUP_FOUND:
                return not found or found.lookup == wire.MATE_LOOKUP_NO_PAIR
            job.mate, of = found.mate.job_id, {"job": found.mate, "caller": own}
            told, id = peer.GetMateStatus(wire.GetMateStatusRequest(**of)), f"{self.name}/{job.id}/{job.calls}"
            if told.status == wire.MATE_STATUS_HOLDING:
                order = wire.StartJobRequest(**of, request_id=id, hold_generation=told.hold_generation)
                return peer.StartJob(order).started
            if told.status == wire.MATE_STATUS_QUEUING:
                order = wire.TryStartMateRequest(**of, request_id=id, hold_until={"seconds": int(job.until)})
                return peer.TryStartMate(order).started
            return told.status != wire.MATE_STATUS_UNSUBMITTED  # it runs, has ended, or will not run
        except grpc.RpcError:
            return False

    def GetMateJobId(self, request, _):  # noqa: N802
        with self.lock:
            of = request.job.domain, request.pair, request.owner
            job = next((job for job in self.jobs.values() if (job.peer, job.pair, job.owner) == of), None)
            if job is None or job.mate not in ("", request.job.job_id):
                lookup = wire.MATE_LOOKUP_UNSUBMITTED if job is None and request.pair else wire.MATE_LOOKUP_NO_PAIR
                return wire.GetMateJobIdResponse(lookup=lookup)
            job.mate, mate = request.job.job_id, {"domain": self.name, "job_id": job.id}
            self.save()
            return wire.GetMateJobIdResponse(lookup=wire.MATE_LOOKUP_FOUND, mate=mate)

    def mate(self, of):
        job = self.jobs.get(of.job.job_id)
        return job if job is not None and (job.peer, job.mate) == (of.caller.domain, of.caller.job_id) else None

    def GetMateStatus(self, request, _):  # noqa: N802
        with self.lock:
            if (job := self.mate(request)) is None:
                return wire.GetMateStatusResponse(status=wire.MATE_STATUS_UNKNOWN)
            status = f"MATE_STATUS_{HOLDING if job.state == READY else job.state}"
            return wire.GetMateStatusResponse(status=status, hold_generation=job.generation)

    def TryStartMate(self, request, _):  # noqa: N802
        return wire.TryStartMateResponse(started=self.once(request, lambda job: job.state != QUEUED or self.fits(job)))

    def StartJob(self, request, _):  # noqa: N802
        of, over = request.hold_generation, (RUNNING, ENDED)
        may = lambda job: job.state in over or (job.state != QUEUED and job.generation == of)  # noqa: E731
        return wire.StartJobResponse(started=self.once(request, may))

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
