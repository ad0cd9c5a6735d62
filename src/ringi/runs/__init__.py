"""Runs (RN, PP-4): the steps of an approved plan become commits, one after another, with a report.

`document` is the run with its stage, `machine` says what is due next, `loop` carries a run on one
transition at a time, `implement_step`, `testing` and `finish_step` are those transitions, `roles` gives
each turn to a command, a model or a person, `process` is a model at work with tools, `report` says what
is known.

Start with `machine` and `loop`. A step reaches the person's files only through a plan.
"""
