"""The live service of one policy domain: gRPC, a clock, a store and timers around the core."""
