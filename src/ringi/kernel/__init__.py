"""What every other package stands on: text, documents, files, processes.

`text` has translatable sentences and the one filter for text from outside; `document` and `codec` are
what documents are made of and how bytes become one. `fs` is the only module with system calls on the
workspace, `process` starts, supervises and sandboxes every program, `telemetry` carries spans and log
lines, `places` says in which folders things are kept, and `lock` lets one process at a time change them.

Start with `text.Text`, `document.Document` and `process.capture`. The kernel knows no plan, no approval
and no agent, reads no configuration, and talks to nobody.
"""
