"""Planning sessions: a person clarifies, decides and approves what is to be done. Nothing is executed."""
