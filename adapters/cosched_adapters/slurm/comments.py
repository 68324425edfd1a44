"""A Slurm job names its mate by a word of its comment. The rest of the comment is the user's.

`cosched:mate=eureka/1234` names job 1234 of the domain eureka. `cosched:pair=NAME` names the job of another domain that
has the same pair name; `cosched:group=NAME@eureka` says which domain, where there are several.
`cosched:group=NAME@eureka+mira` names a group, by the domains of its other members. Additional words:
`cosched:or-alone` lets the job start alone if there is no such mate, or member. Beside a group,
`cosched:window=mira:0..10m` says when the job of a domain starts after the others, and `cosched:at=2026-11-23T18:00`
when they start. A group with these may have one other domain. `cosched:ends-with=eureka+mira`,
`cosched:fail-together`, `cosched:if-requeued=requeue` and `cosched:together-for=10m` say what the job does when others
end, or are queued again.

`cosched:adoptable`, in a comment that names no mate, lets any of the owner's jobs that names this one have it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from cosched.core.protocol import Named, Terms, Window, array_of, named_group, named_mate
from cosched.validation.group_windows import read_window, those_apart
from cosched.validation.pair_names import ALLOWED, is_pair_name
from cosched_adapters.mate_words import GROUP, read_group, read_terms, write_group, write_terms

MARK = "cosched:"
OR_ALONE = f"{MARK}or-alone"
WINDOW = f"{MARK}window="
AT = f"{MARK}at="
ADOPTABLE = f"{MARK}adoptable"
MAX_COMMENT = 1024  # bytes, Slurm's limit
MAX_NAME = 128  # characters of a job's id
# Why a job cannot have a mate, or cannot yield; job_submit.lua has the same texts.
ARRAY = "a job array names its tasks' mates by pair=NAME, those of the same numbers in another array, and no single job"
HET = "a heterogeneous job names its mate in its first component's comment; those of the others name the same or none"
NO_REQUEUE = "with --no-requeue this job can only wait for its mate on its nodes; it cannot yield"
_BLANKS = re.compile(r"[ \t\n\v\f\r]+")
_MATE = re.compile(r"([A-Za-z0-9_.-]{1,64})/(.+)")
_GROUP = f"{MARK}{GROUP}"
_FORMS = f"{MARK}mate=DOMAIN/ID, {MARK}pair=NAME or {_GROUP} (a name is {ALLOWED})"


class CommentError(ValueError):
    """A comment's words for cosched cannot be used; `str()` is one line for the user, without quoting the comment."""


def word(named: Named) -> str:
    """Return the word that names this mate in a comment."""
    group = write_group(named)
    pair = f"{MARK}group={group}" if group else f"{MARK}pair={named.name}"
    words = [pair if named.mate is None else f"{MARK}mate={named.peer}/{named.mate}"]
    words += [f"{WINDOW}{of.domain}:{of.earliest}..{of.latest}" for of in named.windows]
    if named.at is not None:
        words.append(f"{AT}{datetime.fromtimestamp(named.at, UTC).isoformat().replace('+00:00', 'Z')}")
    words += [OR_ALONE] if named.or_alone else []
    for name, value in write_terms(named.terms).items():
        words.append(MARK + name.replace("_", "-") + ("" if name == "fail_together" else f"={value}"))
    return " ".join(words)


def find(comment: str) -> Named | None:
    """Return the mate that a comment names; None if it has no word for cosched. CommentError."""
    words = [word for word in _words(comment) if word != ADOPTABLE]
    when = [word for word in words if word.startswith((WINDOW, AT))]
    life = [word for word in words if word.removeprefix(MARK).partition("=")[0].replace("-", "_") in Terms._fields]
    mates = [word for word in words if word != OR_ALONE and word not in when and word not in life]
    if not words:
        return None
    if not mates:
        raise CommentError(f"the comment has {words[0]}, which has no effect without {_FORMS}")
    if len(mates) > 1:
        raise CommentError(f"the comment has {len(mates)} words that begin with {MARK}; only one may name a mate")
    named = _named(mates[0].removeprefix(MARK))._replace(or_alone=OR_ALONE in words, terms=_terms(life))
    return _starts(named, when) if when else named


def of_task(named: Named, task: int | None) -> Named:
    """Return the mate of an array's task (None: of a plain job), whose array names it without a number."""
    return named if task is None else named._replace(name=f"{named.name}[{task}]")


def is_of_task(named: Named, task: int | None) -> bool:
    """Return whether a job can name this mate that is a task of this number of an array, or none (None)."""
    return (array_of(named.name) or ("", None))[1] == task


def _terms(words: Sequence[str]) -> Terms:
    """Return what the job does when others end. CommentError."""
    said = {}
    for word in words:
        name, equals, value = word.removeprefix(MARK).partition("=")
        said[name.replace("-", "_")] = value if equals else "true"
    if len(said) < len(words):
        raise CommentError("the comment says twice what the job does when others end")
    try:
        return read_terms(said)
    except ValueError as error:
        raise CommentError(f"the comment has {words[0]} in vain: {error}") from None


def is_adoptable(comment: str) -> bool:
    """Return whether a comment lets any of the owner's jobs that names this one have it."""
    return ADOPTABLE in _words(comment)


def add_adoptable(comment: str) -> str:
    """Add that word to the user's comment, if it is not there yet. CommentError: it names a mate; it is too long."""
    if find(comment) is not None:
        raise CommentError(f"the comment names a mate, and {ADOPTABLE} is for a job that names nobody")
    return comment if is_adoptable(comment) else _joined(comment, ADOPTABLE)


def add(comment: str, named: Named) -> str:
    """Add a mate's word to the user's comment, if it is not there yet. CommentError: it names another mate; too long.

    A comment that names this mate and has `cosched:or-alone` keeps it.
    """
    named, before = named._replace(name=(array_of(named.name) or (named.name,))[0]), find(comment)
    if before in (named, named._replace(or_alone=True)):
        return comment
    if before is not None:
        raise CommentError(f"the comment already has a word that begins with {MARK}")
    joined = _joined(comment, word(named))
    if not _names(joined, named):
        raise CommentError(f"the mate cannot be written in a comment as {_FORMS}")
    return joined


def _words(comment: str) -> list[str]:
    """Return the words of a comment that are for cosched."""
    return [word for word in _BLANKS.split(comment) if word.startswith(MARK)]


def _joined(comment: str, added: str) -> str:
    """Return the comment with these words at its end. CommentError: it is too long."""
    joined = f"{comment} {added}" if comment else added
    if _bytes(joined) > MAX_COMMENT:
        raise CommentError(f"the comment is too long: Slurm takes {MAX_COMMENT} bytes, {MARK} included")
    return joined


def _names(comment: str, named: Named) -> bool:
    try:
        return find(comment) == named
    except CommentError:
        return False


def remove(comment: str) -> str:
    """Return a comment without its words for cosched."""
    parts = re.split(f"({_BLANKS.pattern})", comment)
    kept = [part for part in parts if not part.startswith(MARK)]
    return "".join(kept).rstrip(" ") if len(kept) < len(parts) else comment


def _named(directive: str) -> Named:
    """Return the mate or the group that a word names. CommentError."""
    key, _, value = directive.partition("=")
    if key == "pair" and is_pair_name(value):
        return named_mate("", value)
    if key == "group":
        try:
            return read_group(value)
        except ValueError as error:
            raise CommentError(f"the comment has no {_GROUP}: {error}") from None
    if key == "mate" and (match := _MATE.fullmatch(value)) and len(match[2]) <= MAX_NAME and match[2].isprintable():
        return named_mate(match[1], mate=match[2])
    raise CommentError(f"the comment has a word that begins with {MARK} and is not {_FORMS}, or {OR_ALONE} beside it")


def _starts(named: Named, when: Sequence[str]) -> Named:
    """Return the group with the windows and the instant of these words. CommentError."""
    if named.mate is not None or not all(named.others):
        raise CommentError(f"the comment has {WINDOW} or {AT}, which need {_GROUP}")
    try:
        spans = [read_window(word.removeprefix(WINDOW)) for word in when if word.startswith(WINDOW)]
        instants = [_instant(word.removeprefix(AT)) for word in when if word.startswith(AT)]
    except ValueError as error:
        raise CommentError(f"the comment has {WINDOW} or {AT} in vain: {error}") from None
    if len(dict(spans)) < len(spans) or len(instants) > 1:
        raise CommentError(f"the comment has two {AT}, or two {WINDOW} of one domain")
    windows = tuple(Window(domain, *window) for domain, window in sorted(those_apart(dict(spans)).items()))
    if not windows and not instants:
        return named
    group = named_group(named.name, named.others, named.or_alone, windows, next(iter(instants), None))
    return group._replace(terms=named.terms)


def _instant(text: str) -> int:
    """Return the seconds since 1970 of a date with a time, of the local time zone if it names none. ValueError."""
    moment = datetime.fromisoformat(text) if "T" in text else None
    if moment is None or moment.microsecond:
        raise ValueError(f"{text!r} is not an instant such as 2026-11-23T18:00")
    return int(moment.astimezone().timestamp())


def _bytes(text: str) -> int:
    try:
        return len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise CommentError("the comment is not valid text, so it cannot be passed to a command") from None
