"""The core: policy domains as plain state machines. It is told the time and the answers; it never asks or sleeps."""
