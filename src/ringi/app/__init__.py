"""A workspace put together: the one place that picks adapters, and the public Python API.

`api` is what `import ringi` offers; `assemble` picks the adapters; `context` is an open workspace as
operations see it; `integrity`, `projection` and `upkeep` work on the rows of all subjects, `lists` on what
lists show of them; `init`, `doctor_checks`, `restore` and `ci` set a workspace up and mend it.

Start with `assemble`. Interfaces call it; no subject may import it.
"""
