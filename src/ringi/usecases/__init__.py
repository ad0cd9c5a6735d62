"""What people do with a workspace: work beside an agent, check, diagnose, review, verify, trust, set up."""
