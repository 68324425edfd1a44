"""The version. It is in its own file because the other project `cosched` overwrites `cosched/__init__.py`."""

VERSION = "0.1.0"
