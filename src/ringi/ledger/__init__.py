"""The ledger: the only truth about a workspace, in one SQLite database.

`connection` opens it and says what its failures mean, `events` extends the hash-chained log, `contents`
keeps the bytes that executions replace, `migrations` has the schema, and `vault` keeps small encrypted
files. `event` and `subject` are its documents; `ports` is what the rest of the program needs from a ledger
and from the world around it.

Start with `events`. Each subject keeps its own rows beside its documents (`plans.rows`, `sessions.rows`
…).
"""
