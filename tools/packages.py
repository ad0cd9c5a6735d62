"""Source packages for `make show-planning` and `make show-runs`, at pinned versions, fetched into a cache."""

import os
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "flask": "3.0.3",
    "click": "8.1.7",
    "requests": "2.32.3",
    "attrs": "24.2.0",
    "httpx": "0.27.2",
}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
FOLDER = CACHE / "ringi" / "packages"


def main() -> int:
    missing = [name for name in PACKAGES if not (FOLDER / f"{name}-{PACKAGES[name]}.tar.gz").exists()]
    if not missing:
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"Fetching {', '.join(missing)} into {FOLDER} …", file=sys.stderr, flush=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wanted = [f"{name}=={PACKAGES[name]}" for name in missing]
    return subprocess.run([*pip, "--no-binary", ":all:", "--dest", FOLDER, *wanted], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
