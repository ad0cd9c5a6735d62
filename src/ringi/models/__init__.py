"""Language models: asked until the answer is valid or the budget is used up.

`client` is the same for every backend; `http_backend` and `command_backend` send a call to a service or to a
command-line agent; `prompt` is what is asked, `reply` reads the answer strictly, `budget` counts what was
taken, `cached` and `plan_cache` answer again without asking again. `configured` chooses the model.

Start with `client`. A model never decides: its answers are data for whoever asked.
"""
