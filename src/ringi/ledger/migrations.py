"""The ledger's tables as this version writes them, and the steps to later ones.

Nothing reads tables from before version 1. A change of the tables after a release is a further step:
append it, never change a released one.

Uses only types and grammar that PostgreSQL shares with SQLite, except AUTOINCREMENT (an identity there).
"""

import sqlite3
from collections.abc import Callable
from typing import Final

Migration = tuple[str | Callable[[sqlite3.Connection], None], ...]

_TABLES: Final[Migration] = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # SQLite keeps how long the log ever was, so that one cut short is noticed.
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        subject_id TEXT NOT NULL,
        document TEXT NOT NULL,
        hash TEXT NOT NULL
    )""",
    "CREATE INDEX events_subject ON events (subject_id, seq)",
    # The row of each subject names the last event about it: nobody can replace the end of the log alone.
    # `current` is the newest plan of which it is true, unless it was carried out.
    """CREATE TABLE plans (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        status TEXT NOT NULL,
        version INTEGER NOT NULL,
        ref TEXT NOT NULL,
        document TEXT NOT NULL,
        last_event TEXT NOT NULL,
        current BOOLEAN NOT NULL
    )""",
    "CREATE INDEX plans_status ON plans (status, number)",
    # `previews` has the hashes of the diffs in `.agent/`, as JSON by file name.
    """CREATE TABLE specs (
        plan_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        document TEXT NOT NULL,
        previews TEXT,
        PRIMARY KEY (plan_id, version)
    )""",
    # Change plans that a newer project state would supersede.
    """CREATE TABLE open_changes (
        plan_id TEXT PRIMARY KEY,
        snapshot_id TEXT NOT NULL
    )""",
    # One row: the newest.
    """CREATE TABLE project_state (
        id INTEGER PRIMARY KEY,
        snapshot_id TEXT NOT NULL,
        document TEXT NOT NULL
    )""",
    # `at` is the order of creation, here and below: the next is one more than the largest.
    """CREATE TABLE requests (
        id TEXT PRIMARY KEY,
        plan_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        document TEXT NOT NULL
    )""",
    "CREATE INDEX requests_at ON requests (at)",
    "CREATE INDEX requests_plan ON requests (plan_id, at)",
    # `spent_by` names the run of a session or a run; of a plan, its executions tell.
    """CREATE TABLE approvals (
        id TEXT PRIMARY KEY,
        subject_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        at INTEGER NOT NULL,
        document TEXT NOT NULL,
        granted_by TEXT,
        spent_by TEXT
    )""",
    "CREATE INDEX approvals_at ON approvals (at)",
    "CREATE INDEX approvals_subject ON approvals (subject_id, at)",
    "CREATE INDEX approvals_granted ON approvals (granted_by) WHERE granted_by IS NOT NULL",
    "CREATE UNIQUE INDEX approvals_once ON approvals (subject_id) WHERE kind = 'session'",
    """CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        document TEXT NOT NULL,
        revoked_at TEXT,
        last_event TEXT NOT NULL
    )""",
    "CREATE INDEX grants_at ON grants (at)",
    """CREATE TABLE executions (
        id TEXT PRIMARY KEY,
        plan_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        intent TEXT NOT NULL,
        result TEXT
    )""",
    "CREATE INDEX executions_at ON executions (at)",
    "CREATE INDEX executions_plan ON executions (plan_id, at)",
    "CREATE INDEX executions_unfinished ON executions (at) WHERE result IS NULL",
    """CREATE TABLE commands (
        execution_id TEXT NOT NULL,
        spec_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        started TEXT NOT NULL,
        ended TEXT,
        PRIMARY KEY (execution_id, spec_id)
    )""",
    "CREATE INDEX commands_at ON commands (at)",
    """CREATE TABLE contents (
        sha256 TEXT PRIMARY KEY,
        body BLOB,
        kept_until TEXT NOT NULL
    )""",
    "CREATE INDEX contents_kept ON contents (kept_until)",
    # `logs` counts the rows of session_logs.
    """CREATE TABLE sessions (
        at INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        status TEXT NOT NULL,
        logs INTEGER NOT NULL,
        ref TEXT NOT NULL,
        document TEXT NOT NULL,
        facts TEXT NOT NULL,
        last_event TEXT NOT NULL
    )""",
    "CREATE INDEX sessions_status ON sessions (status, at)",
    # `ends` is the length of the phase's log up to this entry: a file's length shows what is missing.
    """CREATE TABLE session_logs (
        session_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        phase TEXT NOT NULL,
        ends INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    )""",
    "CREATE INDEX session_logs_phase ON session_logs (session_id, phase, ends)",
    # A save of a run names the revision it read. Its planning.json is stored once; the run has its hash.
    """CREATE TABLE runs (
        at INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        revision INTEGER NOT NULL,
        document TEXT NOT NULL,
        plan TEXT,
        last_event TEXT NOT NULL
    )""",
    # Of each task: its plan, what was done, and what people said about its run.
    """CREATE TABLE processes (
        at INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        revision INTEGER NOT NULL,
        document TEXT NOT NULL
    )""",
    "CREATE INDEX processes_run ON processes (run_id, at)",
    """CREATE TABLE process_actions (
        process_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (process_id, number)
    )""",
    """CREATE TABLE feedback (
        at INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        document TEXT NOT NULL
    )""",
    "CREATE INDEX feedback_run ON feedback (run_id, at)",
    # What was tried after a kind of error, and how often it helped.
    """CREATE TABLE recoveries (
        kind TEXT NOT NULL,
        tool TEXT NOT NULL,
        strategy TEXT NOT NULL,
        helped INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        PRIMARY KEY (kind, tool, strategy)
    )""",
)

MIGRATIONS: Final[tuple[Migration, ...]] = (_TABLES,)
"""Step n brings the tables to version n."""
