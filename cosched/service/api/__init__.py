"""The gRPC API of a domain for users and peers: checking, counting and answering calls."""
