"""Runs (RN, PP-4): the steps of an approved plan become commits, one after another, with a report.

`start` makes a run, `document` is the run with its stage, `machine` says what is due next, `drive` carries
it on one transition at a time, `implement_step`, `testing` and `finish_step` are those transitions. `roles`
gives each turn to a command, a model or a person, `process` is a model at work with tools, `run_workspace`
has the copy and the branch, `report` says what is known.

Start with `machine` and `drive`. A step reaches the person's files only through a plan.
"""
