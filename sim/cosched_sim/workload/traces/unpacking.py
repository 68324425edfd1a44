"""Unpacks a stream: gzip, bzip2, xz or Zstandard, as its first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple, cast

from cosched.installation.extras import SIMULATOR, install_command
from cosched.words.errors import InputError

_PIECE = 1024  # bytes. What is packed can become 30,000 times as long, so at most 32 MiB come at once.


class DamagedError(Exception):
    """A stream cannot be unpacked; `str()` says why."""


class _Zstandard(io.RawIOBase):
    """A stream of frames. The reader of `zstandard` itself takes one that ends early for whole."""

    def __init__(self, packed: BinaryIO) -> None:
        super().__init__()
        import zstandard

        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = packed
        self._rest = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._rest or self._packed.read(_PIECE)
            if not data:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._unpack(data)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self, data: bytes) -> None:
        self._frame = self._frame or self._new_frame()
        try:
            self._ready = self._frame.decompress(data)
        except self._error as error:
            raise DamagedError(str(error)) from None
        self._rest = self._frame.unused_data
        if self._frame.eof:
            self._frame = None


class _Packing(NamedTuple):
    name: str
    magic: bytes
    unpack: Callable[[BinaryIO], Any]
    damage: type[Exception] | tuple[type[Exception], ...]


_PACKINGS = (
    _Packing("gzip", b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw), (gzip.BadGzipFile, zlib.error)),
    _Packing("bzip2", b"BZh", bz2.BZ2File, ()),
    _Packing("xz", b"\xfd7zXZ\0", lzma.LZMAFile, lzma.LZMAError),
    _Packing("zstd", b"\x28\xb5\x2f\xfd", lambda raw: io.BufferedReader(_Zstandard(raw)), DamagedError),
)
LONGEST_MAGIC = max(len(packing.magic) for packing in _PACKINGS)


class Unpacked:
    """The unpacked bytes of a stream."""

    def __init__(self, stream: BinaryIO, head: bytes, name: str) -> None:
        """`head`: its first bytes, which `stream` still yields. InputError: a package for it is not installed."""
        self._packing = next((packing for packing in _PACKINGS if head.startswith(packing.magic)), None)
        self._name = name
        try:
            self._stream = cast(BinaryIO, self._packing.unpack(stream)) if self._packing else stream
        except ImportError:
            how = f"{install_command(SIMULATOR)}, or unpack it first (zstd -d)"
            raise InputError(name, None, f"zstd-compressed data needs the package zstandard: {how}") from None

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, none at the end; InputError if they are damaged, OSError."""
        if self._packing is None:
            return self._stream.read(size)
        try:
            return self._stream.read(size)
        except EOFError:
            raise InputError(self._name, None, f"truncated {self._packing.name} file: its end is missing") from None
        except self._packing.damage as error:
            reason: Exception = error
        except OSError as error:
            if error.errno is not None:
                raise
            reason = error  # bzip2 has no error of its own
        raise InputError(self._name, None, f"damaged {self._packing.name} file: {reason}")
