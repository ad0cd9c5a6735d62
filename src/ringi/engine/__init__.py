"""The planning engine (PP-1, PP-2): from a goal to subtasks, an action plan and planning.json.

`engine` understands the goal, decomposes it and makes the action plan; `order` sorts subtasks, `levels` says
how finely, `plan_checks` refuses what must not be planned, `revise` applies revisions, `compile` makes
planning.json, whose fields are in `run_plan` and whose rules in `run_plan_rules`. `request`, `design` and
`run_state` are the documents around it: what was asked for, what was designed, how far a run is.

Start with `engine` and `compile`. It plans and carries out nothing, and knows no approvals.
"""
