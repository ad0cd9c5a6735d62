import os
import sys

# `python -m` lets the current folder answer for every import, and that is somebody's project.
try:
    here = os.getcwd()  # noqa: PTH109  # before anything else is loaded
except FileNotFoundError:  # the folder is gone
    here = ""
sys.path[:] = [place for place in sys.path if place not in {"", here}]

from ringi.cli import main  # noqa: E402  # after the line above

raise SystemExit(main())
