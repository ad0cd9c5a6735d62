"""The Agent Client Protocol: an editor on one side, an agent in a copy of the project on the other.

`proxy` passes messages on, `protocol` has them as documents, `sessions` gives each thread an agent of its
own, `turns` holds the end of a turn until there is a plan, `work` does what a thread needs in the
workspace, `files` and `terminals` serve the agent from its copy.

Start with `proxy` and `work`. Nothing an agent or an editor sends is an approval.
"""
