"""An implementer that knows nothing but the brief it is handed and the copy it stands in.

It understands two kinds of request: to rename something, and to say some words instead of others. If the
brief lacks them, it can do nothing and says so.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

brief = Path(os.environ["RINGI_BRIEF"]).read_text()
sys.stdout.write(brief)  # what it was given can be read in its log
renamed = re.search(r"[Rr]ename (?:the \w+ )?`?(\w+)`? to `?(\w+)`?", brief)
reworded = re.search(r'[Ss]ay "([^"\n]+)" instead of "([^"\n]+)"', brief)
if renamed:
    old, new = re.compile(rf"\b((?:test_)?){renamed[1]}\b"), rf"\g<1>{renamed[2]}"
elif reworded:
    old, new = re.compile(re.escape(reworded[2])), reworded[1].replace("\\", r"\\")
else:
    sys.exit("the brief does not say what to do")
allowed = re.findall(r"^- `([^`]+)`$", brief.partition("Change only:")[2].partition("\n## ")[0], re.MULTILINE)
files = subprocess.run(["git", "ls-files", "--", *allowed], capture_output=True, text=True, check=True)
changed = 0
for file in map(Path, files.stdout.splitlines() if allowed else ()):
    if old.search(text := file.read_text(errors="surrogateescape")):
        file.write_text(old.sub(new, text), errors="surrogateescape")
        changed += 1
if not changed:
    sys.exit("none of the files that may be changed has what the brief speaks of")
