"""Differences between texts: read, applied, written, reversed. Bytes in, bytes out."""
