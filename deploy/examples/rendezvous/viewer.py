#!/usr/bin/env python3
"""Shows what its mate, the solver, sends."""

import json
import socket
import subprocess

found = subprocess.run(["cosched", "mates", "--wait", "--json"], check=True, stdout=subprocess.PIPE, text=True)
solver = next(mate for mate in json.loads(found.stdout) if mate["port"] is not None)
with socket.create_connection((solver["host"], solver["port"])) as connection, connection.makefile() as steps:
    for step in steps:
        print(f"{solver['domain']}: {step}", end="")
