"""The service's log on standard error: one bounded line for each entry, as JSON, or readable text on a terminal.

Entries of `structlog.get_logger()` and of the logging module look alike. `cosched.service.logs.log_fields` removes
secrets.
"""

from __future__ import annotations

import logging
import os
import sys

from cosched.installation.needless import without
from cosched.words.errors import OneLineError

with without("rich"):  # it draws tracebacks, which ours are too short for, and takes a tenth of a service's start
    import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from cosched.service.logs.log_fields import bounded, printable, without_secrets

CHATTY = ("apscheduler", "asyncio", "grpc", "numba")  # libraries that log every step at level info


class _Handler(logging.StreamHandler):  # type: ignore[type-arg]
    """A class of its own, to recognise our handler among those of the root logger."""


def configure_logs(level: str, domain: str) -> None:
    """Log entries of `level` (debug, info, warning, error) and above from now on, with the name `domain`."""
    readable = sys.stderr.isatty()
    shared = _shared(domain, timestamps=readable or not _to_journal())
    finish: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, without_secrets, bounded]
    if readable:
        colours, traces = not os.environ.get("NO_COLOR"), structlog.dev.plain_traceback
        finish += [printable, structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=traces)]
    else:
        finish.append(structlog.processors.JSONRenderer())
    handler = _Handler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=finish))
    _install(handler, logging.getLevelNamesMapping()[level.upper()])
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _shared(domain: str, *, timestamps: bool) -> list[Processor]:
    """Return the processors for all lines, of structlog and of the logging module."""

    def add_domain(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {**event, "domain": domain}

    chain: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        add_domain,
        structlog.processors.StackInfoRenderer(),
        _without_needless_trace,
        structlog.processors.format_exc_info,
    ]
    if timestamps:
        chain.append(structlog.processors.TimeStamper(fmt="iso", utc=True))
    return chain


def _without_needless_trace(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Name an error that says all in its one line, instead of where it came from."""
    info = event.get("exc_info")
    error = info[1] if isinstance(info, tuple) else info
    if not isinstance(error, OneLineError):
        return event
    return {**event, "event": f"{event['event']}: {error}", "exc_info": None}


def _install(handler: logging.Handler, level: int) -> None:
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))
    logging.captureWarnings(True)


def _to_journal() -> bool:
    """Return whether standard error is the systemd journal, which has its own time stamps."""
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(sys.stderr.fileno())
        return (int(device), int(inode)) == (status.st_dev, status.st_ino)
    except (ValueError, OSError):
        return False
