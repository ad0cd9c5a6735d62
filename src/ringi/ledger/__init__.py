"""The ledger: the only truth about a workspace, in one SQLite database.

`ledger` is the open ledger: reading, one transaction for each call, the log. `connection` opens the database
and says what its failures mean, `events` extends the hash-chained log, `contents` keeps the bytes that
executions replace, `head` tells an older copy, `migrations` has the schema, and `vault` keeps small
encrypted files. `event` and `subject` are its documents.

Start with `ledger`. It knows no subject: each has one class for its rows beside its documents
(`plans.rows`, `sessions.rows` …), and `runs.store` puts them together.
"""
