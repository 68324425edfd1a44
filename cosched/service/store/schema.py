"""The tables of the database, and the numbered migrations that make them.

Once a migration has been used it never changes: a change of the schema is a new migration at the end of this file.
"""

from __future__ import annotations

import json
from contextlib import closing

from cosched.core.job import JobState
from cosched.service.store.site_schema import RUN_TIMES, SITE
from cosched.service.store.sqlite import Database, Migrations

APPLICATION_ID = 0x636F7363  # "cosc" in the file's header: a database of this program
FIRST_FINAL_STATE = int(JobState.COMPLETED)  # in this state and the following ones a job has ended

UNTOLD = "untold"  # the key in a job's memory of proposals of which it is to tell the outcome, also after its end
NEWS = "news"  # and of what it is to tell of itself
_TOLD = " OR ".join(f"instr(memory, '\"{key}\":{{') > 0" for key in (UNTOLD, NEWS))  # in no text is a plain quote
TELLING = f"state >= {FIRST_FINAL_STATE} AND ifnull({_TOLD}, 0)"

# Keys of the table meta that the store itself uses.
DOMAIN = "store.domain"
RETIRED = "store.retired"  # the highest sequence number of an event that was deleted

MIGRATIONS = Migrations("cosched")

# Comments inside a statement are kept in the database: `sqlite3 FILE .schema` shows them.
_JOBS = f"""
CREATE TABLE jobs (  -- every job of this domain, until its retention is over; states: cosched.core.job.JobState
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice, even if the job has been deleted
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    uid INTEGER,
    nodes INTEGER NOT NULL,
    time_limit INTEGER NOT NULL,
    submitted_at INTEGER NOT NULL,  -- instants here and below: seconds of the service's own time
    state INTEGER NOT NULL,
    reason TEXT NOT NULL,
    user_hold INTEGER NOT NULL,
    ready_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    exit_code INTEGER,
    end_text TEXT NOT NULL,
    peer TEXT,
    pair TEXT,
    mate TEXT,
    lookup INTEGER NOT NULL,
    mate_status INTEGER NOT NULL,
    heard_at INTEGER,
    gap_s INTEGER,
    memory TEXT  -- JSON: the coscheduler's own state of the job
) STRICT;
CREATE INDEX jobs_state ON jobs (state);
CREATE INDEX jobs_owner ON jobs (owner, state);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE state >= {FIRST_FINAL_STATE};
CREATE INDEX jobs_pair ON jobs (peer, pair, ended_at) WHERE pair IS NOT NULL;
CREATE INDEX jobs_mate ON jobs (peer, mate, ended_at) WHERE mate IS NOT NULL
"""
_SCRIPTS = """
CREATE TABLE scripts (  -- what each job runs; read only when it starts, gone with its end
    job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    script BLOB NOT NULL,  -- zlib
    context BLOB NOT NULL  -- zlib of JSON: [arguments, directory, environment]
) STRICT
"""
_EVENTS = """
CREATE TABLE events (  -- what happened, in order: the story of each job, and what WatchEvents tells
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    at INTEGER NOT NULL,
    kind INTEGER NOT NULL,  -- cosched.v1.EventKind
    job INTEGER REFERENCES jobs (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    what TEXT NOT NULL,
    detail TEXT NOT NULL  -- JSON
) STRICT;
CREATE INDEX events_job ON events (job) WHERE job IS NOT NULL;
CREATE INDEX events_jobless ON events (at) WHERE job IS NULL
"""
_ANSWERS = """
CREATE TABLE answers (  -- the last mutating call of each job of a peer, and what it was answered, for its retries
    peer TEXT NOT NULL,
    caller TEXT NOT NULL,  -- the peer's job
    request_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    started INTEGER NOT NULL,
    sequence INTEGER NOT NULL,  -- of the last event before it: how old it is
    PRIMARY KEY (peer, caller)
) STRICT, WITHOUT ROWID
"""
_REPLIES = """
CREATE TABLE replies (  -- what users' mutating calls were answered, for their retries
    who TEXT NOT NULL,
    request_id TEXT NOT NULL,
    method TEXT NOT NULL,
    job INTEGER,  -- as the call named it: there may be no such job
    error TEXT NOT NULL,
    sequence INTEGER NOT NULL,  -- of the last event before it: how old it is
    PRIMARY KEY (who, request_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX replies_job ON replies (job)
"""
_AUDIT = """
CREATE TABLE audit (  -- who changed what, or tried to
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    via TEXT NOT NULL,
    method TEXT NOT NULL,
    job TEXT,
    outcome TEXT NOT NULL,  -- OK or the name of the gRPC code
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_at ON audit (at)
"""
_META = """
CREATE TABLE meta (  -- single values; keys that begin with "store." are the store's own
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_STARTS = """
CREATE TABLE starts (  -- of the last week: what mate_budget_share counts, of a domain with a mate_budget
    hour INTEGER NOT NULL,  -- of the service's own time
    owner TEXT NOT NULL,
    started INTEGER NOT NULL,
    before_turn INTEGER NOT NULL,  -- those of them that a mate_budget has started before others
    pushed INTEGER NOT NULL,  -- seconds by which these have pushed the first job of the queue
    PRIMARY KEY (hour, owner)
) STRICT, WITHOUT ROWID
"""
_ESTIMATES = """
CREATE TABLE estimates (  -- the first of each job at each distance from its start, for two weeks
    job INTEGER NOT NULL,
    kind INTEGER NOT NULL,  -- 0: when it could start for its own part, 1: when all of its pair or group start
    lead INTEGER NOT NULL,  -- the class of its distance: cosched.service.planning.estimates
    made_at INTEGER NOT NULL,
    start_at INTEGER NOT NULL,
    late INTEGER,  -- seconds by which it started later; NULL: it has not started
    PRIMARY KEY (job, kind, lead)
) STRICT, WITHOUT ROWID
"""
_SAMPLES = """
CREATE TABLE samples (  -- what nodes and jobs did, every few minutes, for the page's history
    at INTEGER PRIMARY KEY,  -- of the service's own time
    idle INTEGER NOT NULL,  -- nodes
    busy INTEGER NOT NULL,
    held INTEGER NOT NULL,
    queued INTEGER NOT NULL,  -- jobs
    holding INTEGER NOT NULL,
    running INTEGER NOT NULL
) STRICT
"""
_CHARGES = """
CREATE TABLE charges (  -- what jobs have cost beyond their runs, in node-seconds, for a year
    job INTEGER NOT NULL,
    hour INTEGER NOT NULL,  -- of the service's own time
    owner TEXT NOT NULL,
    account TEXT NOT NULL,  -- empty: none
    pair TEXT NOT NULL,  -- the name of the pair or group
    held INTEGER NOT NULL,
    booked INTEGER NOT NULL,
    pushed INTEGER NOT NULL,
    PRIMARY KEY (job, hour)
) STRICT, WITHOUT ROWID;
CREATE INDEX charges_hour ON charges (hour)
"""
_CANCELLED_BY = "ALTER TABLE jobs ADD COLUMN cancelled_by TEXT /* who has ordered its end while it ran */"
_ANSWER = "ALTER TABLE answers ADD COLUMN reply TEXT NOT NULL DEFAULT '[]' /* JSON: the fields of the answer */"
_GROUPS = """
ALTER TABLE jobs ADD COLUMN group_name TEXT;
ALTER TABLE jobs ADD COLUMN group_with TEXT /* the domains of the other members, in order, joined by + */;
CREATE INDEX jobs_group ON jobs (group_name, owner, ended_at) WHERE group_name IS NOT NULL
"""
_PLACE = "ALTER TABLE jobs ADD COLUMN place TEXT /* JSON: where it can be reached: node list, host, port */"
_ACCOUNT = "ALTER TABLE jobs ADD COLUMN account TEXT NOT NULL DEFAULT '' /* which the batch system charges */"
_SLOTS = "ALTER TABLE charges ADD COLUMN slots INTEGER NOT NULL DEFAULT 0 /* nodes were free for a job with a slot */"
_SIZES = """
ALTER TABLE jobs ADD COLUMN malleable TEXT /* JSON: how its size may change while it runs: least and so on */;
ALTER TABLE jobs ADD COLUMN sizing TEXT /* JSON: the nodes that a running one has, and was told of */
"""
_COLUMNS = """
ALTER TABLE jobs ADD COLUMN columns TEXT /* JSON: what it says beside its size and time, as text */;
ALTER TABLE jobs ADD COLUMN predictions TEXT /* JSON: what a running one predicts of each of its sizes */
"""
_PREEMPTED_AT = "ALTER TABLE jobs ADD COLUMN preempted_at INTEGER /* since when the end of its last run is awaited */"
_BEGAN = """
ALTER TABLE jobs ADD COLUMN began_at REAL /* when its manager began to run it; null: not known */;
ALTER TABLE jobs ADD COLUMN apart_s REAL /* how much later it began than those that start with it; null: not known */;
UPDATE jobs SET began_at = started_at"""
_START_AT = "ALTER TABLE answers ADD COLUMN start_at REAL /* the agreed instant, in seconds since 1970 */"
_MATES = """
ALTER TABLE jobs ADD COLUMN mates TEXT /* JSON: the others by domain, in order; null: not known */;
ALTER TABLE jobs ADD COLUMN is_pair INTEGER NOT NULL DEFAULT 0 /* it has a mate, and no group of that name */;
UPDATE jobs SET mates = json_object(peer, mate), is_pair = 1, group_name = pair WHERE peer IS NOT NULL
"""
_NO_PAIRS = """
DROP INDEX jobs_pair;
DROP INDEX jobs_mate;
ALTER TABLE jobs DROP COLUMN peer;
ALTER TABLE jobs DROP COLUMN pair;
ALTER TABLE jobs DROP COLUMN mate;
ALTER TABLE jobs DROP COLUMN group_with;
CREATE INDEX jobs_mates ON jobs (mates, owner, ended_at) WHERE mates IS NOT NULL
"""


def _execute_each(database: Database, statements: str) -> None:
    """Execute statements separated by lines that end in a semicolon (executescript() would end the transaction)."""
    for statement in statements.split(";\n"):
        database.execute(statement)


def _plain(name: str, statements: str) -> None:
    """Add a migration that only executes statements."""
    MIGRATIONS(name=name)(lambda database: _execute_each(database, statements))


@MIGRATIONS(name="0001_tables")
def _tables(database: Database) -> None:
    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for tables in (_JOBS, _SCRIPTS, _EVENTS, _ANSWERS, _REPLIES, _AUDIT, _META):
        _execute_each(database, tables)


@MIGRATIONS(name="0002_refusals_in_sums")
def _refusals_in_sums(database: Database) -> None:
    database.execute("ALTER TABLE audit ADD COLUMN times INTEGER NOT NULL DEFAULT 1")  # within a minute of `at`


@MIGRATIONS(name="0003_no_scripts_of_ended_jobs")
def _no_scripts_of_ended_jobs(database: Database) -> None:
    ended = f"SELECT id FROM jobs WHERE state >= {FIRST_FINAL_STATE}"
    database.execute(f"DELETE FROM scripts WHERE job IN ({ended})")


_plain("0004_orders", f"{_CANCELLED_BY};\n{_START_AT}")


@MIGRATIONS(name="0005_refusals_in_replies")
def _refusals_in_replies(database: Database) -> None:
    """Submissions refused because of the mate: until now only the job's end said so, as "refused: WHY"."""
    database.execute(f"""
        UPDATE replies SET error = substr(jobs.end_text, 10) FROM jobs
        WHERE jobs.id = replies.job AND jobs.state = {int(JobState.CANCELLED)}
            AND substr(jobs.end_text, 1, 9) = 'refused: '
    """)


@MIGRATIONS(name="0006_whole_answers")
def _whole_answers(database: Database) -> None:
    """Answers have more fields, each kind its own; until now all had these two."""
    _execute_each(database, _ANSWER)
    kept = database.execute("SELECT peer, caller, started, start_at FROM answers").fetchall()
    for peer, caller, started, start_at in kept:
        reply = json.dumps([bool(started), start_at])
        database.execute("UPDATE answers SET reply = ? WHERE peer = ? AND caller = ?", (reply, peer, caller))
    _execute_each(database, "ALTER TABLE answers DROP COLUMN started;\nALTER TABLE answers DROP COLUMN start_at")


_plain("0007_starts", _STARTS)
_plain("0008_groups", _GROUPS)
_plain("0009_places", _PLACE)
_plain("0010_estimates", _ESTIMATES)
_plain("0011_samples", _SAMPLES)
_plain("0012_charges", _CHARGES)
_plain("0013_accounts_of_jobs", _ACCOUNT)
_plain("0014_sizes", _SIZES)


@MIGRATIONS(name="0015_untold")
def _untold(database: Database) -> None:
    """Whom a job has to tell of its group's start was a part of its decision; jobs that have ended tell them, too."""
    untold = f"state >= {FIRST_FINAL_STATE} AND ifnull(instr(memory, '\"{UNTOLD}\"'), 0) > 0"
    _execute_each(database, f"CREATE INDEX jobs_telling ON jobs (id) WHERE {untold}")
    rows = database.execute("SELECT id, started_at, memory FROM jobs WHERE memory LIKE '%\"decision\"%'").fetchall()
    for id, since, memory in rows:
        kept = json.loads(memory)
        _, _, untold = kept.get("group", {}).pop("decision", (None, None, {}))
        if untold:
            kept[UNTOLD] = {peer: [since or 0, *told] for peer, told in untold.items()}
        database.execute("UPDATE jobs SET memory = ? WHERE id = ?", (json.dumps(kept), id))


_plain("0016_slots", _SLOTS)
_plain("0017_preemptions", _PREEMPTED_AT)


@MIGRATIONS(name="0018_allocations")
def _allocations(database: Database) -> None:
    """What a job has was a number of nodes, and for some another one beside what they were told."""
    rows = database.execute(
        "SELECT id, started_at, time_limit, memory, sizing FROM jobs"
        f" WHERE state < {FIRST_FINAL_STATE} AND memory LIKE '%\"nodes\"%'"
    ).fetchall()
    for id, since, limit, memory, sizing in rows:
        kept, told = json.loads(memory), json.loads(sizing or "{}")
        nodes = kept.pop("nodes", 0)
        has = {"nodes": told.pop("nodes", nodes)}
        if since is not None:
            has |= {"start": since, "expected": since + limit}
        kept["allocation"] = has
        values = json.dumps(kept), sizing and json.dumps(told), id
        database.execute("UPDATE jobs SET memory = ?, sizing = ? WHERE id = ?", values)


@MIGRATIONS(name="0019_columns")
def _columns(database: Database) -> None:
    """How a job changes its size is what it says of itself, as text; what it predicts while it runs is not."""
    _execute_each(database, _COLUMNS)
    kept = database.execute("SELECT id, malleable FROM jobs WHERE malleable IS NOT NULL").fetchall()
    for id, malleable in kept:
        known = json.loads(malleable)
        said = {"model": "parabolic" if known.get("parabolic") else None, "least": known["least"]}
        said |= {"resize_s": known.get("fixed"), "resize_bytes": known.get("data")}
        columns = json.dumps({name: str(value) for name, value in said.items() if value})
        predictions = json.dumps(told) if (told := known.get("predictions")) else None
        database.execute("UPDATE jobs SET columns = ?, predictions = ? WHERE id = ?", (columns, predictions, id))
    _execute_each(database, "ALTER TABLE jobs DROP COLUMN malleable")


@MIGRATIONS(name="0020_pairs")
def _pairs(database: Database) -> None:
    """A pair is kept as a group of two. The slots that pairs had agreed on by calls of their own are gone."""
    database.execute("DELETE FROM answers WHERE kind NOT IN ('MateTried', 'MateStarted')")
    rows = database.execute(
        f"SELECT id, memory FROM jobs WHERE state < {FIRST_FINAL_STATE} AND group_name IS NULL AND memory IS NOT NULL"
    ).fetchall()
    for id, memory in rows:
        kept = json.loads(memory)
        if kept.pop("or_alone", False):
            kept["group"] = {"or_alone": True}
        for of_slot in _OF_PAIRS_SLOT:
            kept.pop(of_slot, None)
            kept.get("scheduler", {}).pop(of_slot, None)
        kind, *call = kept.get("call", [""])
        if kind == "StartJob" and any(call[5:]):  # at a slot: whether the mate has started is not known
            kept["in_doubt"] = True
        if kind in ("TryStartMate", "StartJob") and "in_doubt" not in kept:
            kept["call"] = [kind, *call[:5]]
        else:
            kept.pop("call", None)
        database.execute("UPDATE jobs SET memory = ? WHERE id = ?", (json.dumps(kept), id))


@MIGRATIONS(name="0021_mates")
def _mates(database: Database) -> None:
    """A pair had columns of its own: the mate's domain and id, and the pair's name."""
    _execute_each(database, _MATES)
    rows = database.execute("SELECT id, group_with, memory FROM jobs WHERE group_with IS NOT NULL").fetchall()
    for id, others, memory in rows:
        kept = json.loads(memory or "{}")
        known = kept.get("group", {}).pop("jobs", {})
        if not kept.get("group", True):
            del kept["group"]
        mates = json.dumps({domain: known.get(domain) for domain in others.split("+")}, separators=(",", ":"))
        values = mates, json.dumps(kept) if memory else None, id
        database.execute("UPDATE jobs SET mates = ?, memory = ? WHERE id = ?", values)
    _execute_each(database, _NO_PAIRS)


_plain("0022_run_times", RUN_TIMES)
_plain("0023_site", SITE)


_OF_PAIRS_SLOT = ("slot", "slot_block", "slot_moves", "proposes", "confirmed", "fits_since", "rounds", "unanswered")


_BY_THEMSELVES = {"block", "expected", "boost", "passed_over", "wanted_until", "released", "share", "been_ready"}
_BY_THEMSELVES |= {"guard", "slot", "slot_block", "slot_moves", "pushed"}  # of schedulers, once beside the core's


@MIGRATIONS(name="0027_kept")
def _kept(database: Database) -> None:
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


_plain("0028_began", _BEGAN)
_plain("0030_news", f"DROP INDEX IF EXISTS jobs_telling;\nCREATE INDEX jobs_telling ON jobs (id) WHERE {TELLING}")


def is_newer(database: Database) -> bool:
    """Whether the database has migrations that are unknown here."""
    with closing(Database(memory=True)) as empty:
        known = {migration.name for migration in MIGRATIONS.pending(empty)}
    return any(migration.name not in known for migration in MIGRATIONS.applied(database))
