"""GitHub and GitLab: where requests come from and results go to.

`document` and `port` are what a forge has for the rest of the program, `github` and `gitlab` speak with it
over `http`. `intake` makes a session of an issue, `offer` puts a run's branch and request there, `watch`
and its neighbours carry on what is said there, `review_lookup` asks whether a yes counts, `witness` does so
in a clone.

Start with `port` and `watch`. A token goes to its own host only; what strangers write is data.
"""
