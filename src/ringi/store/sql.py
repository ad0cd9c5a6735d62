"""Every statement of the ledger. The types and the grammar are those PostgreSQL shares with SQLite."""

import sqlite3
from collections.abc import Callable
from typing import Final

from ringi.store.adopt import move_session_approvals, name_grants

Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: Final[tuple[tuple[Step, ...], ...]] = (
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
        # What open plans change, so that two on the same file are pointed out.
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
        # `at` is the order in which they came; `logs` counts the rows of session_logs.
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
        # `ends` is how long the phase's log is with this entry: a file's length tells what it lacks.
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
        # What is approved has a kind; the approvals of sessions join those of plans.
        "ALTER TABLE approvals RENAME COLUMN plan_id TO subject_id",
        "ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'plan'",
        "CREATE UNIQUE INDEX approvals_once ON approvals (subject_id) WHERE kind = 'session'",
        "ALTER TABLE events RENAME COLUMN plan_id TO subject_id",
        move_session_approvals,
        name_grants,
        "ALTER TABLE sessions DROP COLUMN approval",
    ),
)

GET_META: Final = "SELECT value FROM meta WHERE key = ?"
SET_META: Final = (
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
ADD_META: Final = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
DROP_META: Final = "DELETE FROM meta WHERE key = ?"

PLAN: Final = (
    "SELECT p.document, s.document, p.revision, p.number FROM plans p"
    " LEFT JOIN specs s ON s.plan_id = p.id AND s.version = p.version WHERE p.id = ?"
)
ADD_PLAN: Final = (
    "INSERT INTO plans (number, id, revision, status, version, ref, document) VALUES (?, ?, 1, ?, ?, ?, ?)"
)
SAVE_PLAN: Final = (
    "UPDATE plans SET revision = revision + 1, status = ?, version = ?, ref = ?, document = ?"
    " WHERE id = ? AND revision = ?"
)
SAVE_SPECS: Final = (
    "INSERT INTO specs (plan_id, version, document) VALUES (?, ?, ?)"
    " ON CONFLICT (plan_id, version) DO UPDATE SET document = excluded.document"
)
REF: Final = "SELECT ref FROM plans WHERE id = ?"
REFS: Final = "SELECT ref FROM plans ORDER BY number DESC LIMIT ?"
REFS_BETWEEN: Final = "SELECT ref FROM plans WHERE number BETWEEN ? AND ? ORDER BY number"
REFS_WITH_STATUS: Final = "SELECT ref FROM plans WHERE status IN ({}) ORDER BY number DESC LIMIT ?"
COUNT_PLANS: Final = "SELECT COALESCE(MAX(number), 0) FROM plans"
ID_OF_NUMBER: Final = "SELECT id FROM plans WHERE number = ?"
IDS_FROM: Final = "SELECT id FROM plans WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
REVISION: Final = "SELECT revision FROM plans WHERE id = ?"
ALL_IDS: Final = "SELECT id FROM plans ORDER BY number"

LAST_EVENT: Final = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
ADD_EVENT: Final = "INSERT INTO events (seq, subject_id, document, hash) VALUES (?, ?, ?, ?)"
EVENTS: Final = "SELECT document, hash FROM events WHERE seq > ? ORDER BY seq"
EVENTS_OF: Final = "SELECT document, hash FROM events WHERE subject_id = ? AND seq > ? ORDER BY seq"
HAS_EVENT: Final = "SELECT 1 FROM events WHERE hash = ? ORDER BY seq DESC LIMIT 1"
EVENT_ROWS: Final = "SELECT seq, subject_id, CAST(document AS BLOB), hash FROM events ORDER BY seq"

ADD_REQUEST: Final = (
    "INSERT INTO requests (id, plan_id, at, document)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM requests), ?)"
)
REQUESTS: Final = "SELECT document FROM requests WHERE plan_id = ? ORDER BY at"
ADD_APPROVAL: Final = (
    "INSERT INTO approvals (id, subject_id, kind, granted_by, at, document)"
    " VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM approvals), ?)"
)
GRANTED_BY: Final = "SELECT id, granted_by FROM approvals"
GRANTED: Final = "SELECT document, spent_by FROM approvals WHERE granted_by = ? ORDER BY at"
APPROVALS: Final = "SELECT document, spent_by FROM approvals WHERE subject_id = ? ORDER BY at"
SPEND: Final = "UPDATE approvals SET spent_by = ? WHERE id = ?"
ADD_INTENT: Final = (
    "INSERT INTO executions (id, plan_id, at, intent)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM executions), ?)"
)
ADD_RESULT: Final = "UPDATE executions SET result = ? WHERE id = ? AND result IS NULL"
EXECUTIONS: Final = "SELECT intent, result FROM executions WHERE plan_id = ? ORDER BY at"
INTENT: Final = "SELECT intent FROM executions WHERE id = ?"
UNFINISHED: Final = "SELECT intent FROM executions WHERE result IS NULL ORDER BY at"
# As bytes: what was tampered with need not be text.
APPROVAL_ROWS: Final = (
    "SELECT id, subject_id, kind, CAST(document AS BLOB), spent_by FROM approvals ORDER BY at"
)
EXECUTION_ROWS: Final = (
    "SELECT id, plan_id, CAST(intent AS BLOB), CAST(result AS BLOB) FROM executions ORDER BY at"
)
REQUEST_ROWS: Final = "SELECT id, plan_id, CAST(document AS BLOB) FROM requests ORDER BY at"
SAVED_PLANS: Final = (
    "SELECT p.id, p.number, p.status, p.version, CAST(p.ref AS BLOB), CAST(p.document AS BLOB),"
    " CAST(s.document AS BLOB) FROM plans p"
    " LEFT JOIN specs s ON s.plan_id = p.id AND s.version = p.version ORDER BY p.number"
)

START_COMMAND: Final = (
    "INSERT INTO commands (execution_id, spec_id, at, started)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM commands), ?)"
)
END_COMMAND: Final = "UPDATE commands SET ended = ? WHERE execution_id = ? AND spec_id = ? AND ended IS NULL"
COMMANDS: Final = "SELECT started, ended FROM commands WHERE execution_id = ? ORDER BY at"
COMMAND_ROWS: Final = (
    "SELECT execution_id, spec_id, CAST(started AS BLOB), CAST(ended AS BLOB) FROM commands ORDER BY at"
)

ADD_GRANT: Final = (
    "INSERT INTO grants (id, at, document) VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM grants), ?)"
)
REVOKE_GRANT: Final = "UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
GRANTS: Final = "SELECT document, revoked_at FROM grants ORDER BY at"
GRANT_ROWS: Final = "SELECT id, CAST(document AS BLOB), revoked_at FROM grants ORDER BY at"

SPECS: Final = "SELECT document FROM specs WHERE plan_id = ? AND version = ?"
OPEN_PATH: Final = "INSERT INTO open_paths (path, plan_id) VALUES (?, ?)"
CLOSE_PATHS: Final = "DELETE FROM open_paths WHERE plan_id = ?"
OVERLAPPING: Final = "SELECT plan_id FROM open_paths WHERE path = ? AND plan_id <> ? ORDER BY plan_id"

SET_STATE: Final = (
    "INSERT INTO project_state (id, snapshot_id, document) VALUES (1, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET snapshot_id = excluded.snapshot_id, document = excluded.document"
)
STATE: Final = "SELECT document FROM project_state WHERE id = 1"
OPEN_CHANGE: Final = (
    "INSERT INTO open_changes (plan_id, snapshot_id) VALUES (?, ?)"
    " ON CONFLICT (plan_id) DO UPDATE SET snapshot_id = excluded.snapshot_id"
)
CLOSE_CHANGE: Final = "DELETE FROM open_changes WHERE plan_id = ?"
OTHER_CHANGES: Final = "SELECT plan_id FROM open_changes WHERE snapshot_id <> ? ORDER BY plan_id"

KEEP_CONTENT: Final = (
    "INSERT INTO contents (sha256, body, kept_until) VALUES (?, ?, ?)"
    " ON CONFLICT (sha256) DO UPDATE SET kept_until = excluded.kept_until"
    " WHERE excluded.kept_until > contents.kept_until"
)
CONTENT: Final = "SELECT body FROM contents WHERE sha256 = ?"
OLD_CONTENTS: Final = "SELECT sha256, body IS NULL FROM contents WHERE kept_until < ?"
DROP_CONTENTS: Final = "DELETE FROM contents WHERE kept_until < ?"

SESSION: Final = "SELECT document, facts, revision FROM sessions WHERE id = ?"
ADD_SESSION: Final = (
    "INSERT INTO sessions (at, id, revision, status, logs, ref, document, facts)"
    " VALUES ((SELECT COALESCE(MAX(at), 0) + 1 FROM sessions), ?, 1, ?, ?, ?, ?, ?)"
)
SAVE_SESSION: Final = (
    "UPDATE sessions SET revision = revision + 1, status = ?, logs = ?, ref = ?, document = ?, facts = ?"
    " WHERE id = ? AND revision = ?"
)
SESSION_REVISION: Final = "SELECT revision FROM sessions WHERE id = ?"
SESSION_REFS: Final = "SELECT ref FROM sessions ORDER BY at DESC"
# The statuses of OPEN_SESSIONS: to load the documents takes longer than a list without any session.
OPEN_SESSION_REFS: Final = (
    "SELECT ref FROM sessions WHERE status IN ('discovery', 'design', 'review', 'failed') ORDER BY at DESC"
)
SESSION_IDS: Final = "SELECT id FROM sessions ORDER BY at"
SESSIONS_FROM: Final = "SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
SESSION_ROWS: Final = (
    "SELECT at, id, revision, status, logs, CAST(ref AS BLOB), CAST(document AS BLOB), CAST(facts AS BLOB)"
    " FROM sessions ORDER BY at"
)

ADD_LOG: Final = "INSERT INTO session_logs (session_id, seq, phase, ends, text) VALUES (?, ?, ?, ?, ?)"
COUNT_LOGS: Final = "SELECT logs FROM sessions WHERE id = ? AND revision = ?"
LOGS: Final = "SELECT phase, text FROM session_logs WHERE session_id = ? ORDER BY seq"
LOG_END: Final = "SELECT COALESCE(MAX(ends), 0) FROM session_logs WHERE session_id = ? AND phase = ?"
LOG_END_BEFORE: Final = LOG_END + " AND ends <= ?"
LOG_AFTER: Final = (
    "SELECT text FROM session_logs WHERE session_id = ? AND phase = ? AND ends > ? ORDER BY ends"
)
LOG_COUNTS: Final = "SELECT session_id, COUNT(*), MIN(seq), MAX(seq) FROM session_logs GROUP BY session_id"

RUN: Final = "SELECT document FROM runs WHERE id = ?"
RUNS: Final = "SELECT document FROM runs ORDER BY at DESC"
ADD_RUN: Final = (
    "INSERT INTO runs (at, id, document) VALUES ((SELECT COALESCE(MAX(at), 0) + 1 FROM runs), ?, ?)"
)
SAVE_RUN: Final = "UPDATE runs SET document = ? WHERE id = ?"
RUNS_FROM: Final = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
RUN_ROWS: Final = "SELECT at, id, CAST(document AS BLOB) FROM runs ORDER BY at"
