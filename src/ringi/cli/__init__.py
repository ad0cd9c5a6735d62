"""The command line. `main` is what the installed program calls."""


def main() -> int:
    import gc  # noqa: PLC0415  # with the rest

    # Nothing becomes garbage while modules load; looking for it would cost a tenth of every start.
    gc.disable()
    from ringi.cli.main import main as run  # noqa: PLC0415  # after the line above

    return run()
