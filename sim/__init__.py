"""Simulation: traces, the virtual-time engine, metrics, studies and reports."""
