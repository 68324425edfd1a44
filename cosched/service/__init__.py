"""The live service of one policy domain: the core behind gRPC, with a clock, a store and timers."""
