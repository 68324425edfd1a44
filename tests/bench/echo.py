"""The yardstick of the service's calls: a bare grpc.aio server in a process of its own that returns each request."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from cosched.v1.coscheduling_pb2 import GetMateStatusRequest

SERVICE, METHOD = "bench.Echo", "Echo"


async def echo(request: GetMateStatusRequest, context: object) -> GetMateStatusRequest:  # noqa: ARG001
    """The request."""
    return request


async def serve() -> None:
    """Serve on a free port of 127.0.0.1, which is printed, until the process is ended."""
    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(
        echo, GetMateStatusRequest.FromString, GetMateStatusRequest.SerializeToString
    )
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {METHOD: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


@contextmanager
def echo_server() -> Iterator[tuple[str, int]]:
    """Its address and its process id, while the block runs."""
    command = [sys.executable, "-m", "tests.bench.echo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"127.0.0.1:{int(process.stdout.readline())}", process.pid
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(serve())
