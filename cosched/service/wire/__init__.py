"""Translates and checks messages of the protocol, and authenticates their senders."""
