"""An agent at work beside a person: `ringi with` and what follows from it.

`launch` makes a copy of the project, runs the agent in it and turns what it left into a plan. `copies` finds
the copies of a workspace, `resume` and `turns` give an agent the person's answer in its own conversation,
`message` writes that answer, and `setup` teaches an agent that is already there to propose plans.
Start with `launch`. Which agents exist, and how each is started and read, is in `agents`; what happens to a
plan is in `plans`. Nothing here knows of runs or forges.
"""
