"""A model at work on a task: plan, actions, results, reflection, revisions."""
