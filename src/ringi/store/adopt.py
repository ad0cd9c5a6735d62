"""What a migration cannot say in SQL: it reads documents, and leaves every one of them as it is."""

import json
import sqlite3
from typing import Any


def _fields(document: object) -> dict[str, Any]:
    """Empty if it cannot be read: whoever verifies the ledger is told."""
    try:
        found = json.loads(str(document))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def move_session_approvals(database: sqlite3.Connection) -> None:
    """In the order of the log, as those of plans are."""
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
    """Events about grants named them in their reason only."""
    rows = database.execute("SELECT seq, document FROM events WHERE subject_id = ''").fetchall()
    for seq, document in rows:
        grant_id = str(_fields(document).get("reason", "")).partition(" ")[0]
        database.execute("UPDATE events SET subject_id = ? WHERE seq = ?", (grant_id, seq))
