"""The version, in a file that no other project's package `cosched` writes over."""

VERSION = "0.1.0"
