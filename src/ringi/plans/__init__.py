"""The plan tool (PT, CP): propose, validate, preview, approve, execute, recover, undo.

`tool` has the specification's calls; `document` is the plan with its states; `propose`, `validate`,
`effects` and `preview` say what it would do; `approve` asks a person, and says how that ended;
`execute`, `executor`, `units` and `recover` carry out what was approved and survive any crash; `undo` takes
it back; `review_loop`, `review_plan` and `reviewed_plan` are the review that every interface shows. Modules
named `…_view` put documents into lines.

Start with `tool`, then `executor`. This is the one door: nothing else changes the person's workspace.
"""
