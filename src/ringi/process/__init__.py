"""Start, supervise, sandbox, terminal, signals: the one place that runs other programs."""
