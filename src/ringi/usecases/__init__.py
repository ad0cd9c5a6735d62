"""What people do with a workspace: run an agent, check, diagnose, review, verify, trust, set up."""
