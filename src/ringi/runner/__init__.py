"""Runs: the approved plan of a run becomes commits, one step after another."""
