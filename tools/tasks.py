"""What `make show-runs` needs: clones of real projects and their tasks, and what their tests depend on.

It says which clones are missing. The dependencies are installed at pinned versions with pip, each set in an
environment of its own in a cache folder.
"""

import argparse
import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.context import TASKS, clones_in

REPOSITORIES: Final = ("pallets/flask", "psf/requests")
_PYTEST: Final = "pytest==7.4.4"
ENVIRONMENTS: Final[Mapping[str, Sequence[str]]] = {
    "flask-2.0": ("werkzeug==2.0.3", "jinja2==3.0.3", "itsdangerous==2.0.1", "click==8.0.4",
                  "markupsafe==2.1.3", _PYTEST),
    "flask-2.2": ("werkzeug==2.2.3", "jinja2==3.1.2", "itsdangerous==2.1.2", "click==8.1.3",
                  "markupsafe==2.1.3", _PYTEST),
    "click": (_PYTEST,),
    "requests": ("urllib3==1.25.11", "idna==2.8", "chardet==3.0.4", "charset-normalizer==2.0.12",
                 "certifi==2024.8.30", "pytest-mock==3.12.0", _PYTEST),
}  # fmt: skip
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
FOLDER: Final = CACHE / "ringi" / "environments"


def python_of(environment: str) -> Path:
    return FOLDER / environment / "bin" / "python"


def _install(name: str, wanted: Sequence[str]) -> None:
    """Once; anew if other versions are wanted."""
    made = FOLDER / name / "installed.txt"
    if made.exists() and made.read_text().split() == list(wanted):
        return
    print(f"Installing {', '.join(wanted)} into {FOLDER / name} …", file=sys.stderr, flush=True)
    venv.create(FOLDER / name, with_pip=True, clear=True, symlinks=True)
    pip = [python_of(name), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, *wanted], check=True)
    made.write_text("\n".join(wanted))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirror", type=Path, help="the folder with the clones")
    clones_in(parser.parse_args().mirror, (TASKS, *REPOSITORIES), "show-runs")
    for name, wanted in ENVIRONMENTS.items():
        _install(name, wanted)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
