"""The migrations of the ledger's tables. Append; never change a released one.

Uses only types and grammar that PostgreSQL shares with SQLite, except AUTOINCREMENT (an identity there).
"""

import sqlite3
from collections.abc import Callable
from typing import Any, Final

import msgspec

Migration = tuple[str | Callable[[sqlite3.Connection], None], ...]


def _fields(document: object) -> dict[str, Any]:
    """Empty if it cannot be read: verifying the ledger reports that."""
    try:
        found = msgspec.json.decode(str(document))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def move_session_approvals(database: sqlite3.Connection) -> None:
    """In the order of the log, like those of plans."""
    rows = database.execute("SELECT id, approval FROM sessions WHERE approval IS NOT NULL").fetchall()
    if not rows:
        return
    places = {str(hash_): seq for seq, hash_ in database.execute("SELECT seq, hash FROM events")}
    found = [(_fields(document), str(session_id), document) for session_id, document in rows]
    found.sort(key=lambda one: places.get(str(one[0].get("after_event")), 0))
    for fields, session_id, document in found:
        approval_id, run_id = fields.get("id", session_id), fields.get("run_id")
        database.execute(
            "INSERT INTO approvals (id, subject_id, kind, at, document, spent_by)"
            " VALUES (?, ?, 'session', (SELECT COALESCE(MAX(at), 0) + 1 FROM approvals), ?, ?)",
            (str(approval_id), session_id, document, run_id),
        )


def name_grants(database: sqlite3.Connection) -> None:
    """Older events name grants only in their reason."""
    rows = database.execute("SELECT seq, document FROM events WHERE subject_id = ''").fetchall()
    for seq, document in rows:
        grant_id = str(_fields(document).get("reason", "")).partition(" ")[0]
        database.execute("UPDATE events SET subject_id = ? WHERE seq = ?", (grant_id, seq))


def keep_length(database: sqlite3.Connection) -> None:
    """Of the log, as `head` has it: a log that was truncated before must not pass as whole."""
    head = database.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
    length = str(head[0]).partition(" ")[0] if head else ""
    database.execute("DELETE FROM sqlite_sequence WHERE name = 'events'")
    database.execute(
        "INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)",
        (int(length) if length.isdigit() else 0,),
    )


def name_last_events(database: sqlite3.Connection) -> None:
    """The row of each subject names the last event about it: nobody can replace the end of the log alone."""
    for table in ("plans", "sessions", "runs", "grants"):
        newest = f"(SELECT hash FROM events WHERE subject_id = {table}.id ORDER BY seq DESC LIMIT 1)"  # noqa: S608  # a name of ours
        database.execute(f"ALTER TABLE {table} ADD COLUMN last_event TEXT NOT NULL DEFAULT ''")
        database.execute(f"UPDATE {table} SET last_event = COALESCE({newest}, '')")  # noqa: S608  # as above


_NUMBERED: Final = ("requests", "approvals", "executions", "commands", "grants")

MIGRATIONS: Final[tuple[Migration, ...]] = (
    (
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE plans (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            revision INTEGER NOT NULL,
            status TEXT NOT NULL,
            version INTEGER NOT NULL,
            ref TEXT NOT NULL,
            document TEXT NOT NULL
        )""",
        "CREATE INDEX plans_status ON plans (status, number)",
        """CREATE TABLE specs (
            plan_id TEXT NOT NULL,
            version INTEGER NOT NULL,
            document TEXT NOT NULL,
            PRIMARY KEY (plan_id, version)
        )""",
        """CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            plan_id TEXT NOT NULL,
            document TEXT NOT NULL,
            hash TEXT NOT NULL
        )""",
        "CREATE INDEX events_plan ON events (plan_id, seq)",
        """CREATE TABLE requests (
            id TEXT PRIMARY KEY,
            plan_id TEXT NOT NULL,
            at INTEGER NOT NULL,
            document TEXT NOT NULL
        )""",
        "CREATE INDEX requests_plan ON requests (plan_id, at)",
        """CREATE TABLE approvals (
            id TEXT PRIMARY KEY,
            plan_id TEXT NOT NULL,
            at INTEGER NOT NULL,
            document TEXT NOT NULL,
            spent_by TEXT
        )""",
        "CREATE INDEX approvals_plan ON approvals (plan_id, at)",
        """CREATE TABLE executions (
            id TEXT PRIMARY KEY,
            plan_id TEXT NOT NULL,
            at INTEGER NOT NULL,
            intent TEXT NOT NULL,
            result TEXT
        )""",
        "CREATE INDEX executions_plan ON executions (plan_id, at)",
        "CREATE INDEX executions_unfinished ON executions (at) WHERE result IS NULL",
        """CREATE TABLE contents (
            sha256 TEXT PRIMARY KEY,
            body BLOB,
            kept_until TEXT NOT NULL
        )""",
        "CREATE INDEX contents_kept ON contents (kept_until)",
    ),
    (
        # One row: the newest.
        """CREATE TABLE project_state (
            id INTEGER PRIMARY KEY,
            snapshot_id TEXT NOT NULL,
            document TEXT NOT NULL
        )""",
        # Change plans that a newer project state would supersede.
        """CREATE TABLE open_changes (
            plan_id TEXT PRIMARY KEY,
            snapshot_id TEXT NOT NULL
        )""",
    ),
    (
        """CREATE TABLE commands (
            execution_id TEXT NOT NULL,
            spec_id TEXT NOT NULL,
            at INTEGER NOT NULL,
            started TEXT NOT NULL,
            ended TEXT,
            PRIMARY KEY (execution_id, spec_id)
        )""",
        """CREATE TABLE grants (
            id TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            document TEXT NOT NULL,
            revoked_at TEXT
        )""",
        # What open plans change, so that overlaps can be shown.
        """CREATE TABLE open_paths (
            path TEXT NOT NULL,
            plan_id TEXT NOT NULL,
            PRIMARY KEY (path, plan_id)
        )""",
        "CREATE INDEX open_paths_plan ON open_paths (plan_id)",
        "ALTER TABLE approvals ADD COLUMN granted_by TEXT",
        "CREATE INDEX approvals_granted ON approvals (granted_by) WHERE granted_by IS NOT NULL",
    ),
    (
        # `at` is the order of creation; `logs` counts the rows of session_logs.
        """CREATE TABLE sessions (
            at INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            revision INTEGER NOT NULL,
            status TEXT NOT NULL,
            logs INTEGER NOT NULL,
            ref TEXT NOT NULL,
            document TEXT NOT NULL,
            facts TEXT NOT NULL,
            approval TEXT
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
        """CREATE TABLE runs (
            at INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            document TEXT NOT NULL
        )""",
    ),
    (
        # Every subject has a kind; approvals of sessions move to the table of those of plans.
        "ALTER TABLE approvals RENAME COLUMN plan_id TO subject_id",
        "ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'plan'",
        "CREATE UNIQUE INDEX approvals_once ON approvals (subject_id) WHERE kind = 'session'",
        # SQLite keeps how long the log ever was, so that one cut short is noticed.
        """CREATE TABLE log (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            subject_id TEXT NOT NULL,
            document TEXT NOT NULL,
            hash TEXT NOT NULL
        )""",
        "INSERT INTO log (seq, subject_id, document, hash) SELECT seq, plan_id, document, hash FROM events",
        "DROP TABLE events",
        "ALTER TABLE log RENAME TO events",
        "CREATE INDEX events_subject ON events (subject_id, seq)",
        keep_length,
        move_session_approvals,
        name_grants,
        name_last_events,
        "ALTER TABLE sessions DROP COLUMN approval",
        # Of a plan, its executions tell.
        "UPDATE approvals SET spent_by = NULL WHERE kind = 'plan'",
        # The documents of open plans say what they change.
        "DROP TABLE open_paths",
        # The newest plan of which it is true, unless it was carried out.
        "ALTER TABLE plans ADD COLUMN current BOOLEAN NOT NULL DEFAULT FALSE",
        "UPDATE plans SET current = TRUE WHERE id = (SELECT value FROM meta WHERE key = 'current')",
        "DELETE FROM meta WHERE key = 'current'",
    ),
    (
        # The hashes of the diffs in `.agent/`, as JSON by file name.
        "ALTER TABLE specs ADD COLUMN previews TEXT",
        # The next number of a row is one more than the largest.
        *(f"CREATE INDEX {table}_at ON {table} (at)" for table in _NUMBERED),
    ),
    (
        # A save of a run names the revision it read. Its planning.json is stored once; the run has its hash.
        "ALTER TABLE runs ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
        "UPDATE runs SET revision = (SELECT COUNT(*) FROM events WHERE subject_id = runs.id)",
        "ALTER TABLE runs ADD COLUMN plan TEXT",
    ),
    (
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
    ),
)
