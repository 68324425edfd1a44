"""Opens a job log, plain or packed, from a file or standard input, as numbered blocks of text lines."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from cosched.installation.extras import SIMULATOR, install_command
from cosched.words.errors import InputError
from cosched_sim.workload.traces.notes import Notes

_PIECE = 1024  # bytes. What is packed can become 30,000 times as long, so at most 32 MiB come at once.
StrPath = str | os.PathLike[str]
BLOCK_BYTES = 1 << 20
# Bytes. An accounting record names every processor of a job, so lines can be long; a file with longer ones is not text.
LONGEST_LINE = 16 << 20
_UTF8_MARK = b"\xef\xbb\xbf"
_FOREIGN = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}


class Block(NamedTuple):
    """Consecutive lines of a file without their line ends; `first` is the number (from 1) of `lines[0]`."""

    first: int
    lines: list[str]


def source_name(path: StrPath) -> str:
    """Return the file's name for messages: its path as given, or 'standard input' for '-'."""
    return "standard input" if path == "-" else os.fspath(path)


def read_blocks(path: StrPath, block_bytes: int = BLOCK_BYTES, notes: Notes | None = None) -> Generator[Block]:
    """Yield the lines of a file ('-': standard input) in blocks of about `block_bytes`.

    How it is packed is told by the first bytes, not by the name. Lines end with LF, CR LF or, if there is no LF, CR.
    InputError if the file cannot be read, is damaged or is not UTF-8 text; SWF comments (lines that begin with ';') may
    also be Latin-1. A line that is not text is empty instead if `notes` allow bad lines.
    """
    name = source_name(path)
    line = 1
    try:
        with _open(path) as stream:
            for data in _whole_lines(stream, name, block_bytes):
                lines = _decode(data, notes or Notes(name), line)
                yield Block(line, lines)
                line += len(lines)
    except OSError as error:
        raise InputError(name, None, f"cannot be read: {error.strerror or error}") from None


def numbered(blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for every line that is not blank."""
    for first, lines in blocks:
        for number, text in enumerate(lines, first):
            if text and not text.isspace():
                yield number, text


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes have already been read."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._head or self._rest.read(len(buffer))
        self._head = b""
        buffer[: len(data)] = data
        return len(data)


@contextlib.contextmanager
def _open(path: StrPath) -> Iterator[Unpacked]:
    with _open_raw(path) as raw:
        head = raw.read(LONGEST_MAGIC)
        stream = io.BufferedReader(_Rejoined(head, raw), BLOCK_BYTES)
        yield Unpacked(cast(BinaryIO, stream), head, source_name(path))


def _open_raw(path: StrPath) -> contextlib.AbstractContextManager[BinaryIO]:
    if path != "-":
        try:
            return open(path, "rb")
        except ValueError as error:  # a NUL in the name
            raise InputError(source_name(path), None, f"cannot be read: {error}") from None
    if sys.stdin is None:
        raise InputError(source_name(path), None, "cannot be read: it is closed")
    return contextlib.nullcontext(sys.stdin.buffer)


def _whole_lines(stream: Unpacked, name: str, block_bytes: int) -> Iterator[bytes]:
    """Cut the stream into pieces that end with a line end, which becomes LF; the last piece may lack it."""
    pieces: list[bytes] = []
    line_bytes = 0
    line_end = b""  # not known yet
    chunk = stream.read(block_bytes)
    for magic, what in _FOREIGN.items():
        if chunk.startswith(magic):
            raise InputError(name, None, what)
    chunk = chunk.removeprefix(_UTF8_MARK)
    while chunk:
        line_end = line_end or _line_end(b"".join([*pieces[-1:], chunk]))
        if line_end == b"\r":
            pieces, chunk = [piece.replace(b"\r", b"\n") for piece in pieces], chunk.replace(b"\r", b"\n")
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*pieces, chunk[:end]])
            pieces, line_bytes = [], 0
        pieces.append(chunk[end:])
        line_bytes += len(chunk) - end
        if line_bytes > LONGEST_LINE:
            raise InputError(name, None, f"not text: a line of more than {LONGEST_LINE >> 20} MiB")
        chunk = stream.read(block_bytes)
    if line_bytes:
        yield b"".join(pieces)


def _line_end(start: bytes) -> bytes:
    """Return which byte ends the lines of a text that begins so; empty if that is not known yet."""
    if b"\n" in start:
        return b"\n"
    return b"\r" if b"\r" in start[:-1] else b""


def _decode(data: bytes, notes: Notes, first: int) -> list[str]:
    try:
        text = data.decode() if b"\0" not in data else ""
    except UnicodeDecodeError:
        text = ""
    if not text:
        text = "\n".join(_decode_line(line, notes, n) for n, line in enumerate(data.split(b"\n"), first))
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _decode_line(line: bytes, notes: Notes, number: int) -> str:
    try:
        if b"\0" not in line:
            return line.decode()
        notes.bad(InputError(notes.source, number, "binary data (a NUL byte), not text"))
    except UnicodeDecodeError as error:
        if line.lstrip().startswith(b";"):
            return line.decode("latin-1")
        reason = f"not text: byte 0x{line[error.start]:02x} is not UTF-8"
        notes.bad(InputError(notes.source, number, reason))
    return ""


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
