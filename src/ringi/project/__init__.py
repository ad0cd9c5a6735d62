"""What is known about a project: which files a request is about, who uses whom, what checkers say.

`capture` makes the project state of CP-10 from a snapshot, `dependencies` finds which file uses which,
`diagnose` runs checkers in a copy. `index` and `ranking` find the files of a request, and
`gather` puts together what a model is shown of them.

Start with `capture` or `gather`. Everything is read from a snapshot; nothing is written.
"""
