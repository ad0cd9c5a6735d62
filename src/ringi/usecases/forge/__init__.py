"""Issues, pull and merge requests: where requests come from and results go to."""
