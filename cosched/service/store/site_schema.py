"""The tables of a domain's site: what is in it, and what was learned of it (Collins and George 2001, figure 1)."""

from __future__ import annotations

RUN_TIMES = """
CREATE TABLE runs (  -- those that have completed: the history of Collins and George 2001, figure 1, in sums
    job_class TEXT NOT NULL,
    resource TEXT NOT NULL,  -- a machine or a cluster
    owner TEXT NOT NULL,
    queue TEXT NOT NULL,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL,  -- seconds
    squares TEXT NOT NULL,  -- an integer, which may have more than 64 bits
    histogram TEXT NOT NULL,  -- JSON: how many runs, by the least number of seconds of each class
    PRIMARY KEY (job_class, resource, owner, queue)
) STRICT, WITHOUT ROWID;
CREATE TABLE stated_times (  -- what the operators expect of runs, until some have completed
    job_class TEXT NOT NULL,
    resource TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    PRIMARY KEY (job_class, resource)
) STRICT, WITHOUT ROWID
"""
SITE = """
CREATE TABLE policies (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE machine_classes (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE machines (
    name TEXT PRIMARY KEY,
    machine_class TEXT NOT NULL,
    is_up INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE interconnects (  -- networks between the machines of clusters
    name TEXT PRIMARY KEY,
    bandwidth REAL,  -- Mbit/s
    latency REAL  -- s
) STRICT, WITHOUT ROWID;
CREATE TABLE clusters (
    name TEXT PRIMARY KEY,
    min_members INTEGER NOT NULL,
    interconnect TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE cluster_members (
    cluster TEXT NOT NULL,
    machine TEXT NOT NULL,
    PRIMARY KEY (cluster, machine)
) STRICT, WITHOUT ROWID;
CREATE TABLE queues (
    name TEXT PRIMARY KEY,
    algorithm TEXT NOT NULL,
    preempts INTEGER NOT NULL,
    is_preempted INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE job_classes (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE file_times (  -- on which machines and clusters a job class can run, and a first guess of its time
    job_class TEXT NOT NULL,
    resource TEXT NOT NULL,
    seconds INTEGER NOT NULL,
    PRIMARY KEY (job_class, resource)
) STRICT, WITHOUT ROWID;
CREATE TABLE access (  -- what is here is for these users only
    kind TEXT NOT NULL,  -- machine, cluster, queue, job class
    name TEXT NOT NULL,
    user TEXT NOT NULL,
    PRIMARY KEY (kind, name, user)
) STRICT, WITHOUT ROWID;
CREATE VIEW users AS  -- their completed runs by queue
    SELECT owner AS name, queue, sum(count) AS runs, sum(total) AS seconds FROM runs GROUP BY owner, queue
"""
# What is made of the site's file at each start.
SITE_TABLES = (
    "policies", "machine_classes", "machines", "interconnects", "clusters", "cluster_members", "queues", "job_classes",
    "file_times", "access",
)  # fmt: skip
LEARNED_TABLES = ("users", "runs", "stated_times")
