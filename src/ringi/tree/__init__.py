"""The person's files: captured, compared, copied and written without trusting the repository around them.

`tree` opens files part by part and never through a link, `stage` writes a group of files so that it can
always be finished or rolled back, `tree_capture` and `private_git` read a tree without running its
configuration, `snapshot` gives it one id, `copy` and its neighbours lay out the work copies in which
agents and commands run, `commits` makes commits the way the person's own git does.

Start with `tree`, then `copy`. It decides nothing about plans: it is told what to read and write.
"""
