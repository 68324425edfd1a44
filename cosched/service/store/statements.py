"""The SQL of the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cosched.core.job import JobState
from cosched.core.scheduling.starts import Starts
from cosched.service.store.records import AUDIT_COLUMNS, ESTIMATE_COLUMNS, EVENT_COLUMNS, JOB_COLUMNS, Sample
from cosched.service.store.schema import FIRST_FINAL_STATE, TELLING

CHARGE_COLUMNS = ("job", "hour", "owner", "account", "pair", "held", "booked", "pushed", "slots")
Statement = tuple[str, tuple[Any, ...]]  # the text, and the values of its parameters


def _insert(table: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


_LAST = (1 << 63) - 1  # the highest number in SQLite
_ENDED = f"state >= {FIRST_FINAL_STATE}"
_LAST_ENDED = f"{_ENDED} ORDER BY ended_at DESC, id DESC LIMIT 1"
_RETIRING = f"{_ENDED} AND NOT ({TELLING}) AND ended_at < ?1"
_JOBS = f"SELECT {', '.join(JOB_COLUMNS)} FROM jobs"
_EVENTS = f"SELECT {', '.join(EVENT_COLUMNS)} FROM events"
_LAST_EVENT = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)"
_NOBODYS_MATE = "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.mates = json_object(answers.peer, answers.caller))"

ADD_JOB = _insert("jobs", JOB_COLUMNS)
SAVE_ESTIMATE = _insert("estimates", ESTIMATE_COLUMNS).replace("INSERT", "INSERT OR REPLACE", 1)
DROP_ESTIMATES = "DELETE FROM estimates WHERE job = ?1 AND late IS NULL"
RETIRE_ESTIMATES = "DELETE FROM estimates WHERE made_at < ?1"
ESTIMATES = f"SELECT {', '.join(ESTIMATE_COLUMNS)} FROM estimates ORDER BY made_at, job"
_RUNS = ("job_class", "resource", "owner", "queue", "count", "total", "squares", "histogram")
SAVE_RUNS = _insert("runs", _RUNS).replace("INSERT", "INSERT OR REPLACE", 1)
DROP_RUNS = "DELETE FROM runs WHERE job_class = ? AND resource = ? AND owner = ? AND queue = ?"
RUNS = f"SELECT {', '.join(_RUNS)} FROM runs"
SAVE_STATED_TIME = "INSERT OR REPLACE INTO stated_times (job_class, resource, seconds) VALUES (?, ?, ?)"
DROP_STATED_TIME = "DELETE FROM stated_times WHERE job_class = ? AND resource = ?"
STATED_TIMES = "SELECT job_class, resource, seconds FROM stated_times"
ADD_CHARGE = _insert("charges", CHARGE_COLUMNS) + (
    " ON CONFLICT (job, hour) DO UPDATE SET "
    + ", ".join(f"{cost} = {cost} + excluded.{cost}" for cost in CHARGE_COLUMNS[5:])
    + ", owner = excluded.owner, account = excluded.account, pair = excluded.pair"
)
RETIRE_CHARGES = "DELETE FROM charges WHERE hour < ?1"
HELD_BY_ACCOUNT = "SELECT account, hour, sum(held) FROM charges WHERE hour > ?1 GROUP BY account, hour"
COST = "SELECT total(held), total(booked), total(pushed), total(slots) FROM charges WHERE job = ?1"
CHARGES = """SELECT hour, job, {by}, held, booked, pushed, slots FROM charges
    WHERE hour >= ?1 AND (hour, job) > (?2, ?3) ORDER BY hour, job LIMIT ?4"""
PUT_JOB = ADD_JOB + (
    " ON CONFLICT (id) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in JOB_COLUMNS if column != "id")
)
DROP_OTHER_JOB = "DELETE FROM jobs WHERE id = ? AND NOT (owner = ? AND name = ? AND ? <= ifnull(ended_at, 1 << 62))"
_CHANGES = ", ".join(f"{column} = ?{number}" for number, column in enumerate(JOB_COLUMNS[1:], 2))
SAVE_JOB = f"UPDATE jobs SET {_CHANGES} WHERE id = ?1"  # the parameters are those of ADD_JOB
ADD_SCRIPT = _insert("scripts", ("job", "script", "context"))
ADD_EVENT = _insert("events", EVENT_COLUMNS)
ADD_AUDIT = _insert("audit", AUDIT_COLUMNS)
_REFUSAL = "at = ? AND who = ? AND via = ? AND method = ? AND outcome = ? AND detail = ?"
COUNT_AUDIT = f"UPDATE audit SET times = ? WHERE {_REFUSAL}"
DROP_JOB = "DELETE FROM jobs WHERE id = ?"
DROP_SCRIPT = "DELETE FROM scripts WHERE job = ?"
SAVE_ANSWER = f"""
    INSERT OR REPLACE INTO answers (peer, caller, request_id, kind, reply, sequence)
    VALUES (?, ?, ?, ?, ?, {_LAST_EVENT})
"""
SAVE_REPLY = f"""
    INSERT INTO replies (who, request_id, method, job, error, sequence)
    VALUES (?, ?, ?, ?, ?, {_LAST_EVENT}) ON CONFLICT DO UPDATE SET error = excluded.error
"""
SAVE_STARTS = _insert("starts", ("owner", "hour", *Starts._fields)).replace("INSERT", "INSERT OR REPLACE", 1)
ADD_SAMPLE = _insert("samples", Sample._fields).replace("INSERT", "INSERT OR REPLACE", 1)
RETIRE_SAMPLES = "DELETE FROM samples WHERE at < ?"
SET_META = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"

LAST_TO_RETIRE = f"""
    SELECT max(sequence) FROM (
        SELECT max(sequence) AS sequence FROM events INDEXED BY events_jobless WHERE job IS NULL AND at < ?1
        UNION ALL SELECT max(sequence) FROM events WHERE job IN (SELECT id FROM jobs WHERE {_RETIRING})
    )
"""
NEXT_TO_RETIRE = f"SELECT ended_at FROM jobs WHERE {_RETIRING} ORDER BY ended_at LIMIT 1 OFFSET ?2"
RETIRE_EVENTS = "DELETE FROM events WHERE job IS NULL AND at < ?"
RETIRE_JOBS = f"DELETE FROM jobs WHERE {_RETIRING} RETURNING id, mates"
RETIRE_REPLIES = "DELETE FROM replies WHERE job = ?"
RETIRE_OLD_REPLIES = """
    DELETE FROM replies WHERE sequence < ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = replies.job)
"""
RETIRE_ANSWERS = f"DELETE FROM answers WHERE peer = ? AND caller = ? AND {_NOBODYS_MATE}"
RETIRE_OLD_ANSWERS = f"DELETE FROM answers WHERE sequence < ? AND {_NOBODYS_MATE}"
RETIRE_AUDIT = "DELETE FROM audit WHERE at < ?"
RETIRE_STARTS = "DELETE FROM starts WHERE hour <= ?"

META = "SELECT value FROM meta WHERE key = ?"
LAST_NUMBER = "SELECT seq FROM sqlite_sequence WHERE name = ?"
NEXT_JOB = "SELECT min(id) FROM jobs WHERE id > ?"
NEXT_EVENT = "SELECT min(sequence) FROM events WHERE sequence > ?"
PREVIOUS_EVENT = "SELECT max(sequence) FROM events WHERE sequence < ?"
JOB = f"{_JOBS} WHERE id = ?"
SCRIPT_BYTES = "SELECT job, length(script) + length(context) FROM scripts"
SCRIPT = "SELECT script, context FROM scripts WHERE job = ?"
_BY_NAME = f"{_JOBS} INDEXED BY jobs_group WHERE owner = ? AND group_name = ?"  # an owner may have many jobs
ENDED_OF_PAIR = f"{_BY_NAME} AND is_pair AND ? IN (SELECT key FROM json_each(mates)) AND {_LAST_ENDED}"
ENDED_OF_GROUP = f"{_BY_NAME} AND NOT is_pair AND {_LAST_ENDED}"
ENDED_WITH_MATE = f"""
    {_JOBS} INDEXED BY jobs_mates WHERE owner = ? AND mates = json_object(?, ?) AND is_pair AND {_LAST_ENDED}
"""
ENDED_SINCE = f"{_JOBS} WHERE {_ENDED} AND ended_at >= ? AND mates IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT ?"
TELLING_JOBS = f"{_JOBS} WHERE {TELLING} ORDER BY id"
ANSWERS = "SELECT peer, caller, request_id, kind, reply FROM answers ORDER BY peer, caller"
ANSWER = "SELECT request_id, kind, reply FROM answers WHERE peer = ? AND caller = ?"
SAMPLES = f"SELECT {', '.join(Sample._fields)} FROM samples WHERE at >= ? ORDER BY at LIMIT ?"
STARTS = f"SELECT owner, hour, {', '.join(Starts._fields)} FROM starts ORDER BY hour, owner"
REPLY = "SELECT method, job, error FROM replies WHERE who = ? AND request_id = ?"
AUDIT = f"SELECT {', '.join(AUDIT_COLUMNS)} FROM audit ORDER BY id DESC LIMIT ?"


def jobs(
    states: Sequence[JobState] | None, owner: str | None, paired_only: bool, after: int, limit: int, until: int = _LAST,
    group: str | None = None,
) -> Statement:  # fmt: skip
    """Select jobs by id, up to `until`; a limit of -1 means no limit. `group`: the name of their group or pair."""
    condition = "id > ? AND id <= ?"
    values: tuple[Any, ...] = (after, until)
    if owner is not None:
        condition, values = f"{condition} AND owner = ?", (*values, owner)
    if paired_only:
        condition = f"{condition} AND mates IS NOT NULL"
    if group is not None:
        condition, values = f"{condition} AND group_name = ?", (*values, group)
    if states is None and owner is None:
        return f"{_JOBS} WHERE {condition} ORDER BY id LIMIT ?", (*values, limit)
    # Each state by itself: an index has its jobs by id, and SQLite merges the selections
    wanted = sorted(set(JobState if states is None else states))
    selections = [f"{_JOBS} WHERE state = {int(state)} AND {condition}" for state in wanted]
    every = " UNION ALL ".join(selections) or f"{_JOBS} WHERE false"
    return f"{every} ORDER BY id LIMIT ?", (*values * len(selections), limit)


def events_before(before: int, kinds: Sequence[int], length: int) -> Statement:
    """Select events of these kinds among the `length` numbers before a number, the last one first."""
    condition = "sequence < ? AND sequence >= ? AND kind IN (SELECT value FROM json_each(?))"
    return f"{_EVENTS} WHERE {condition} ORDER BY sequence DESC", (before, before - length, json.dumps([*kinds]))


def stories(jobs: Sequence[int], kinds: Sequence[int], limit: int) -> Statement:
    """Select the last events of these jobs, of these kinds (none: all), the last one first."""
    condition, values = "job IN (SELECT value FROM json_each(?))", [json.dumps([*jobs])]
    if kinds:
        condition, values = f"{condition} AND kind IN (SELECT value FROM json_each(?))", [*values, json.dumps([*kinds])]
    return f"{_EVENTS} WHERE {condition} ORDER BY sequence DESC LIMIT ?", (*values, limit)


def events(after: int, jobs: Sequence[int], kinds: Sequence[int], limit: int, until: int = _LAST) -> Statement:
    """Select events by sequence number, up to `until`."""
    conditions: list[str] = ["sequence > ? AND sequence <= ?"]
    values: list[Any] = [after, until]
    for column, wanted in (("job", jobs), ("kind", kinds)):
        if wanted:
            conditions.append(f"{column} IN (SELECT value FROM json_each(?))")  # SQL limits the length of a list
            values.append(json.dumps([*wanted]))
    return f"{_EVENTS} WHERE {' AND '.join(conditions)} ORDER BY sequence LIMIT ?", (*values, limit)
