"""Rules of the core, seen in replays: each domain of a pair is played by the simulator."""
