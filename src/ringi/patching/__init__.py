"""Differences between texts: read, applied, written, turned round. Text in, text out, on bytes."""
