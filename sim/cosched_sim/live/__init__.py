"""Replays with real services: each domain is a process with its own database, and they talk to each other by gRPC.

Their time is virtual. A conductor (`sim.federation`) advances them in lock-step through ReplayService
(replay.proto), so the result is the same as that of a replay inside one process.
"""
