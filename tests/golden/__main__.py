"""Makes golden folders, without a name the newest of each kind: .venv/bin/python -m tests.golden plan-1

Once a release has written a form, its folder stays as it is, and a changed form gets the next number.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.golden.golden import HERE, make_plan, make_session, make_signed
from tests.golden.ledgers import make_cut_off, make_ledger

_FILES = {"plan": make_plan, "signed": make_signed, "session": make_session}
_LEDGERS = {"ledger": make_ledger, "cut-off": make_cut_off}
_NEWEST = ("plan-1", "signed-1", "session-1", "ledger-1", "cut-off-1")


def main(names: list[str]) -> None:
    os.umask(0o022)
    for name in names or _NEWEST:
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        kind = name.rpartition("-")[0]
        if kind in _LEDGERS:
            _LEDGERS[kind](folder)
        else:
            with tempfile.TemporaryDirectory() as scratch:
                _FILES[kind](Path(scratch), folder)


main(sys.argv[1:])
