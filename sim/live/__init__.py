"""Replays with real services: a process for each domain, each with its own database, that speak gRPC to each other.

Their time is virtual. A conductor (`conductor`) leads them through it in lock-step by ReplayService (replay.proto), so
the outcome is that of the same replay inside one process.
"""
