"""Planning sessions: a person clarifies, decides and approves what to do. Nothing is executed."""
