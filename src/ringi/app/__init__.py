"""A workspace put together: the one place that picks adapters, and the public Python API.

`api` is what `import ringi` offers; `assemble` picks the adapters; `context` is an open workspace as
operations see it; `ledger`, `lists`, `integrity` and `projection` join the rows of all subjects; `init`,
`doctor_checks`, `restore` and `ci` set a workspace up and mend it.

Start with `assemble`. Interfaces call it; no subject may import it.
"""
