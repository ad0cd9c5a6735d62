"""`make try`: the whole way, in a scratch repository of its own. Offline, without a model.

First beside an agent, then from a request to a commit, then by script, and last a proof for others.
At a terminal you press the keys.
Without one the script presses them, through a pseudo-terminal, and says so.
"""

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RINGI = Path(sys.executable).with_name("ringi")
# As it is typed and shown; found beside the interpreter that runs this.
PYTHON = "python3"
PERSON_NEEDED = 3
DECLINED = 5
NOT_COVERED = 6
NOT_STARTED = 127
LONGEST_SEC = 120
MENU = r"\[q\]uit"
REQUEST = "Print the total below the report"

REPORT = '''\
"""Prints a small report."""

import sys

ROWS = [("apples", 3), ("pears", 5)]


def lines(rows):
    return [f"{name}: {count}" for name, count in rows]


def main(arguments):
    for line in lines(ROWS):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''
TEST = """\
import unittest

import report


class ReportTest(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(report.lines([("a", 1)]), ["a: 1"])


if __name__ == "__main__":
    unittest.main()
"""
PROJECT = '[project]\nname = "report"\nversion = "1.0"\n'
MAKEFILE = """\
test:
\tpython3 -m unittest -q

list:
\tpython3 report.py > report.txt
"""
# The person's own: commands that are no high risk.
CONFIG = 'run:\n  allowed: ["make *"]\n'

# What a coding agent would do, in a few lines: it edits, tests, leaves something behind, and makes one change
# nobody asked for. Started again, it does what the person said.
AGENT = """\
import os, pathlib, subprocess, sys

report = pathlib.Path("report.py")
if told := os.environ.get("RINGI_FEEDBACK"):
    print("demo agent: I was told")
    print(*(line for line in pathlib.Path(told).read_text().splitlines() if line.startswith(">")), sep="\\n")
    text = report.read_text().replace("        time.sleep(1)\\n", "").replace("import time\\n", "")
    report.write_text(text)
    subprocess.run([sys.executable, "-m", "unittest", "-q"], check=True)
    subprocess.run(["git", "commit", "-qam", "Add --json to the report"], check=True)
    raise SystemExit
text = report.read_text()
text = text.replace("import sys\\n", "import json\\nimport sys\\nimport time\\n", 1)
text = text.replace(
    "    for line in lines(ROWS):\\n        print(line)\\n",
    "    if \\"--json\\" in arguments:\\n        time.sleep(1)\\n        print(json.dumps(dict(ROWS)))\\n"
    "        return 0\\n    for line in lines(ROWS):\\n        print(line)\\n",
)
report.write_text(text)
test = pathlib.Path("test_report.py")
test.write_text(test.read_text().replace(
    "\\n\\nif __name__",
    "\\n    def test_json(self):\\n        self.assertEqual(report.main([\\"--json\\"]), 0)\\n"
    "\\n\\nif __name__",
))
project = pathlib.Path("pyproject.toml")
project.write_text(project.read_text().replace('"1.0"', '"2.0"'))
subprocess.run([sys.executable, "-m", "unittest", "-q"], check=True)
subprocess.run(["git", "commit", "-qam", "Add --json to the report"], check=True)
print("demo agent: done")
"""

# Makes the step of a run: whatever command you like does it, told by a brief what is asked for.
IMPLEMENTER = """\
import os, pathlib

print("demo implementer:", pathlib.Path(os.environ["RINGI_BRIEF"]).read_text().splitlines()[0])
report, test = pathlib.Path("report.py"), pathlib.Path("test_report.py")
text = report.read_text()
text = text.replace(
    "\\n\\ndef main",
    "\\n\\ndef total(rows):\\n    return f\\"total: {sum(count for _, count in rows)}\\"\\n\\n\\ndef main",
)
report.write_text(text.replace("        print(line)\\n", "        print(line)\\n    print(total(ROWS))\\n"))
test.write_text(test.read_text().replace(
    "\\n\\nif __name__",
    "\\n    def test_total(self):\\n        self.assertEqual(report.total([(\\"a\\", 2)]), \\"total: 2\\")\\n"
    "\\n\\nif __name__",
))
"""

# A plan as a script writes it: words, and specs for a diff and a command.
PLAN = """\
# Sort the report

Readers look for a name, so the rows come in order. Then the tests run and the list is made anew.
"""
SORTED = """\
--- a/report.py
+++ b/report.py
@@ -8,2 +8,2 @@
 def lines(rows):
-    return [f"{name}: {count}" for name, count in rows]
+    return [f"{name}: {count}" for name, count in sorted(rows)]
"""
SPECS = [
    {"kind": "patch", "path": "report.py", "content": SORTED},
    {"kind": "run", "argv": ["make", "test", "list"]},
]

# Two small steps of an agent.
STEPS = {
    "Sort the report": """\
--- a/report.py
+++ b/report.py
@@ -8,2 +8,2 @@
 def lines(rows):
-    return [f"{name}: {count}" for name, count in rows]
+    return [f"{name}: {count}" for name, count in sorted(rows)]
""",
    "Add plums": """\
--- a/report.py
+++ b/report.py
@@ -5 +5 @@
-ROWS = [("apples", 3), ("pears", 5)]
+ROWS = [("apples", 3), ("pears", 5), ("plums", 8)]
""",
}


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="ringi-try-"))
    try:
        return journey(folder)
    except KeyboardInterrupt:
        say("\nStopped. It was all in a scratch repository, which is removed.")
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def journey(folder: Path) -> int:
    project, environment = make_project(folder)
    by_hand = sys.stdin.isatty() and sys.stdout.isatty()
    say("A scratch repository, offline, no model. A demo agent adds --json to a report tool in its own copy.")
    if not by_hand:
        say("There is no terminal here, so this script presses the keys itself, in a pseudo-terminal.")
    stage = Stage(project, environment, by_hand=by_hand)
    before = contents(project)
    if not beside_an_agent(stage, folder):
        return 0
    if stage.undone and contents(project) != before:
        return say_bug()
    if not stage.undone:
        say("\nIt stays as you left it, so the tour ends here: its second half needs the files as they were.")
        return 0
    from_a_request(stage, folder)
    key = by_script(stage, folder)
    if contents(project) != before and stage.undone:
        return say_bug()
    if key:
        for_others(stage, folder, key)
    say("\nNow in your own repository:  ringi init   then   ringi with -- your-agent")
    say('                             or  ringi run "what you want" --with your-agent')
    return 0


def beside_an_agent(stage: "Stage", folder: Path) -> bool:
    """False if nobody could decide, or nobody wanted to."""
    check = f"{PYTHON} -m unittest -q"
    stage.run(["with", "--check", check, "--", PYTHON, str(folder / "demo-agent.py")])
    stage.run([])
    say("\nA line in it is not wanted. The agent is told, and continues in the same copy.")
    code = stage.review(
        [
            (MENU, "c"),
            (r"2:14", "report.py:16"),
            (r"Your comment", "no sleeping, please"),
            (MENU, "r"),
            (r"change\?", "take the sleep out"),
            (r"continue now", "y"),
            # The version bump was not asked for either.
            (MENU, "d"),
            (r"1 to 3:", "1"),
            (MENU, "a"),
        ],
        hint="go to time.sleep(1), say so with c, send it back with r, and let the agent continue with y;"
        " then drop pyproject.toml with D and take the rest with a",
    )
    if code == PERSON_NEEDED:
        return not_decided(stage)
    if code == DECLINED:
        # Somebody sat here and did not let it continue.
        stage.run(["with", "--resume"])
        code = stage.review([], hint="drop pyproject.toml with D, then take the rest with a")
    if code != 0:
        return not_decided(stage)
    stage.run(["verify"])
    stage.run(["log", "--verify"])
    stage.undo(["undo"])
    return True


def not_decided(stage: "Stage") -> bool:
    if stage.by_hand:
        say("Nothing was approved, so the tour ends here. Come again: make try")
    else:
        say("Nothing was approved. Below an agent, or without a terminal of your own, it must be so.")
    return False


def from_a_request(stage: "Stage", folder: Path) -> None:
    say("\nFrom a request: a sentence becomes a plan you approve, then a tested commit on its own branch.")
    say("The built-in playbook asks and plans, a demo command makes the change; still no model.")
    stage.run(
        ["run", REQUEST, "--with", shlex.join([PYTHON, str(folder / "demo-implementer.py")])],
        [
            (r"Question 1 of 1[\s\S]*\n> ", "python3 report.py prints a last line: total: 8"),
            (MENU, "a"),
            (r"Approve\? \[y/n\]", "y"),
            (MENU, "a"),
            (r"The line instead", ""),
        ],
        hint="answer that a last line is total: 8; approve the plan with a and y, the result with a, Enter",
    )
    stage.run(["report"])


def by_script(stage: "Stage", folder: Path) -> Path | None:
    """The key whose signatures count from now on, if there is one and nothing is left in the files."""
    say("\nBy script: a text, with a diff and a command as specs, becomes a plan.")
    stage.run(["propose", str(folder / "PLAN.md"), "--specs", str(folder / "specs.json")])
    plan = stage.newest_plan()
    stage.run(["show", plan, "--diff"])
    say("\nWithout an approval nothing happens, and the exit code says so.")
    stage.run(["execute", plan])
    signed: list[str] = []
    if key := make_key(folder, stage.environment):
        say("\nA signature is the stronger proof. This key was made for the tour; yours may ask for a touch.")
        listed = stage.run(["init", "--key", f"{key}.pub"], [(r"\[y/n\]", "y")], hint="list the key with y")
        signed = ["--sign", str(key)] if listed == 0 else []
    answers = [] if signed else [(r"\[y/n\]", "y")]
    if stage.run(["approve", plan, *signed], answers, hint="" if signed else "say yes with y") == 0:
        stage.run(["execute", plan])
        stage.run(["verify"])
        say("\nUndo brings back what the command did, too: report.txt was its work.")
        stage.undo(["undo", *signed])
    return key if signed and stage.undone else None


def for_others(stage: "Stage", folder: Path, key: Path) -> None:
    say("\nA proof for others: two changes, each approved with the key, end as one squashed commit.")
    stage.git("switch", "-q", "-c", "feature")
    for title in STEPS:
        patch = str(folder / f"{title.lower().replace(' ', '-')}.patch")
        stage.run(["propose", "--title", title, "--patch", patch])
        stage.run(["approve", stage.newest_plan(), "--sign", str(key)])
        stage.run(["execute", stage.newest_plan()])
        stage.git("commit", "-qam", title)
    stage.git("switch", "-q", "main")
    stage.git("merge", "-q", "--squash", "feature")
    stage.git("commit", "-qm", "Sort the report and add plums")
    say("\nThe commits are gone, the approved bytes are not: any clone can tell, offline.")
    stage.run(["verify", "HEAD", "--mode", "strict"])
    stage.run(["why", "report.py:5"])
    say("\nOne comment more, by whomever, and it is red.")
    with (stage.project / "report.py").open("a", encoding="utf-8") as file:
        file.write("# trust me\n")
    stage.git("commit", "-qa", "--amend", "--no-edit")
    stage.run(["verify", "HEAD", "--mode", "strict"], fails=NOT_COVERED)


class Stage:
    def __init__(self, project: Path, environment: dict[str, str], *, by_hand: bool) -> None:
        self.project = project
        self.environment = environment
        self.by_hand = by_hand
        self.undone = False
        """What was carried out last was taken back."""

    def review(self, answers: list[tuple[str, str]], hint: str) -> int:
        """Full screen where a person sits; where this script presses the keys, the dialogue can be read."""
        if self.by_hand:
            say(f"\nThe review fills the screen. You decide; for example: {hint}.")
            input("Enter opens it. ")
            return self.run(["review"])
        return self.run(["review", "--plain"], answers)

    def undo(self, words: list[str]) -> None:
        signed = "--sign" in words
        answers = [] if signed else [(r"\[y/n\]", "y")]
        self.undone = self.run(words, answers, hint="" if signed else "take it all back with y") == 0

    def newest_plan(self) -> str:
        argv = [str(RINGI), "--json", "list", "--limit", "1"]
        done = subprocess.run(argv, cwd=self.project, env=self.environment, capture_output=True, check=True)
        return f"p{json.loads(done.stdout)[0]['number']}"

    def git(self, *words: str) -> None:
        say(f"\n$ git {shlex.join(words)}")
        subprocess.run(["git", *words], cwd=self.project, env=self.environment, check=True)

    def run(
        self, words: list[str], answers: list[tuple[str, str]] | None = None, hint: str = "", fails: int = 0
    ) -> int:
        say(f"\n$ {shlex.join(['ringi', *map(typed, words)])}")
        if self.by_hand and hint:
            say(f"(You decide. For example: {hint}.)")
        argv = [str(RINGI), *words]
        if self.by_hand:
            code = subprocess.run(argv, cwd=self.project, env=self.environment, check=False).returncode
        else:
            # Lines that can be read in a file: no full screen, no colours.
            code = drive(argv, self.project, {**self.environment, "TERM": "dumb"}, answers or [])
        if code not in {fails, PERSON_NEEDED, DECLINED}:
            raise SystemExit(f"ringi {' '.join(words)} ended with exit code {code}")
        if code == PERSON_NEEDED:
            say(f"(exit code {code}: a person is needed)")
        return code


def typed(word: str) -> str:
    """Without the long paths of the scratch folder, as a person would have typed it."""
    if "/" not in word:
        return word
    parts = [word] if Path(word).exists() else shlex.split(word)
    return " ".join(Path(part).name if part.startswith("/") else part for part in parts)


def drive(argv: list[str], cwd: Path, environment: dict[str, str], answers: list[tuple[str, str]]) -> int:
    """Run the command in a pseudo-terminal and type each answer when its question stands there."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.chdir(cwd)
            os.execve(argv[0], argv, environment)
        finally:
            os._exit(NOT_STARTED)  # or two of this script would go on
    waiting = list(answers)
    seen = ""
    end = time.monotonic() + LONGEST_SEC
    while True:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            break
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        text = piece.decode("utf-8", "replace").replace("\r\n", "\n")
        sys.stdout.write(text)
        sys.stdout.flush()
        seen += text
        if waiting and (found := re.search(waiting[0][0], seen)):
            seen = seen[found.end() :]
            # The program throws away what was typed before its question stood there.
            time.sleep(0.2)
            os.write(terminal, waiting.pop(0)[1].encode() + b"\n")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status)


def make_project(folder: Path) -> tuple[Path, dict[str, str]]:
    project = folder / "report"
    project.mkdir()
    files = {
        "report.py": REPORT,
        "test_report.py": TEST,
        "pyproject.toml": PROJECT,
        "Makefile": MAKEFILE,
        ".gitignore": "__pycache__/\n",
        "../demo-agent.py": AGENT,
        "../demo-implementer.py": IMPLEMENTER,
        "../PLAN.md": PLAN,
        "../specs.json": json.dumps(SPECS),
        **{f"../{title.lower().replace(' ', '-')}.patch": text for title, text in STEPS.items()},
        "../config/ringi/config.yaml": CONFIG,
    }
    (folder / "config" / "ringi").mkdir(parents=True)
    for name, text in files.items():
        (project / name).write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
    }
    identity = '[user]\n\tname = "You"\n\temail = "you@example.org"\n[init]\n\tdefaultBranch = main\n'
    (folder / "gitconfig").write_text(identity, encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "A report tool"]):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)
    return project, environment


def make_key(folder: Path, environment: dict[str, str]) -> Path | None:
    """None where there is no ssh-keygen."""
    key = folder / "tour-key"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tour", "-f", str(key)]
    try:
        subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return key


def contents(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}


def say_bug() -> int:
    say("The files are not as they were. This is a bug; please report it.")
    return 1


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
