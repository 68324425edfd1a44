"""The Grid Engine manager: see manager.py."""
