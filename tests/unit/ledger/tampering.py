"""What somebody would have to write who changes the log and wants nobody to notice."""

import sqlite3


def name_last_event(database: sqlite3.Connection, subject_id: str, hash_: str) -> None:
    for table in ("plans", "sessions", "runs", "grants"):
        database.execute(f"UPDATE {table} SET last_event = ? WHERE id = ?", (hash_, subject_id))
