"""Documents and state machines: frozen data, no I/O, no clock, no randomness."""
