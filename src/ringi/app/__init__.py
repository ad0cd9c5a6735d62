"""A workspace put together, and the public Python API.

`api` is what `import ringi` offers; `workspace` has the one context that every operation takes, and opens it;
`store` composes the ledger from the rows of all subjects; `integrity`, `projection` and `upkeep` work on all
of them, `lists` on what lists show; `init`, `doctor_checks`, `restore` and `ci` set one up and mend it.

Start with `workspace`. Interfaces call it; subjects name its type and import nothing of it.
"""
