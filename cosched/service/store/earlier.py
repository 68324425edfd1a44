"""Databases of the versions before 0.1.0, whose tables were made by many migrations: the last of them are taken up."""

from __future__ import annotations

import json

from cosched.service.store.schema import FIRST_FREE, TELLING, applied
from cosched.service.store.sqlite import Database

_OLDEST = "0023_site"  # what those have that can be taken up
# Of schedulers, once beside what is the core's.
_BY_THEMSELVES = {"block", "expected", "boost", "passed_over", "wanted_until", "released", "share", "been_ready"}
_BY_THEMSELVES |= {"guard", "slot", "slot_block", "slot_moves", "pushed"}


def is_too_old(database: Database) -> bool:
    """Return whether the database is of such a version, and cannot be taken up."""
    names = {name for name in applied(database) if "0001_tables" < name < FIRST_FREE}
    return bool(names) and _OLDEST not in names


def take_up(database: Database) -> None:
    """Change a database of such a version to the tables of today, all of it or nothing."""
    names = applied(database)
    if _OLDEST not in names:
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        if "0027_kept" not in names:
            _keep(database)
        if "0028_began" not in names:
            database.execute("ALTER TABLE jobs ADD COLUMN began_at REAL")
            database.execute("ALTER TABLE jobs ADD COLUMN apart_s REAL")
            database.execute("UPDATE jobs SET began_at = started_at")
        database.execute("DROP INDEX IF EXISTS jobs_telling")
        database.execute(f"CREATE INDEX jobs_telling ON jobs (id) WHERE {TELLING}")
        database.execute("DELETE FROM _sqlite_migrations WHERE name > '0001_tables' AND name < ?", (FIRST_FREE,))
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _keep(database: Database) -> None:
    """Write what is kept of jobs as their types say."""
    for id, memory in database.execute("SELECT id, memory FROM jobs WHERE memory IS NOT NULL").fetchall():
        kept = json.loads(memory)
        if "scheduler" not in kept and (of_scheduler := {name: kept[name] for name in _BY_THEMSELVES & kept.keys()}):
            kept["scheduler"] = of_scheduler
        if (group := kept.get("group")) is not None:
            if "booking" in group:
                group["promise"] = group.pop("booking")
            if "proposal" in group:
                group["proposal"] = dict(zip(("since", "requests"), group["proposal"], strict=True))
        if "untold" in kept:
            kept["untold"] = {peer: [request, since] for peer, (since, *request) in kept["untold"].items()}
        if (after := json.dumps(kept, separators=(",", ":"))) != memory:
            database.execute("UPDATE jobs SET memory = ? WHERE id = ?", (after, id))
