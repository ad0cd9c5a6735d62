"""What others can prove in a clone, and what a crash leaves."""

import json
import os
import signal
import subprocess
import time

from tests.records.scene import FIX, TITLE, Scene


def proofs(scene: Scene) -> None:
    """Two approved changes and one that nobody approved, in two clones."""
    scene.make_project()
    key = scene.list_key()
    bare = scene.world / "origin.git"
    scene.git("clone", "-q", "--bare", str(scene.project), str(bare))
    scene.git("remote", "add", "origin", str(bare))
    scene.git("fetch", "-q", "origin")
    for patch, title in ((FIX, "Fix the sum"), (TITLE, "Name it")):
        name = scene.propose(patch, title)
        scene.do("approve", name, "--sign", key)
        scene.do("execute", name)
        scene.git("commit", "-qam", title)
    scene.refuse("cli/sync", "sync", "nowhere")
    scene.forms("cli/sync", "sync", "origin")
    scene.record("cli/sync/again", "sync", "origin")
    scene.forms("cli/verify-range", "verify", "HEAD~2..HEAD", "--mode", "strict")
    scene.record("cli/verify-range/sarif", "verify", "HEAD", "--sarif", "-")
    scene.forms("cli/why", "why", "calc.py:2")
    scene.refuse("cli/why", "why", "calc.py:99")
    scene.record("cli/why/nobody", "why", "test_calc.py:1")
    (scene.project / "calc.py").write_text("def add(a, b):\n    return a + b  # trust me\n")
    scene.git("commit", "-qam", "Say more")
    scene.refuse("cli/verify-range", "verify", "HEAD~1..HEAD", "--mode", "strict")
    scene.refuse(
        "cli/verify-range", "--json", "verify", "HEAD~1..HEAD", "--mode", "strict", form="refusal-json"
    )
    scene.refuse("cli/verify-range", "verify", "nowhere..HEAD", form="refusal-unknown")
    scene.git("push", "-q", "origin", "main")
    clone = scene.world / "clone"
    scene.git("clone", "-q", str(bare), str(clone))
    scene.record("cli/verify-range/clone-before", "verify", "HEAD~1", cwd=clone)
    scene.record("cli/sync/clone", "sync", cwd=clone)
    scene.record("cli/verify-range/clone", "verify", "HEAD~1", cwd=clone)
    scene.record("cli/why/clone", "why", "calc.py:2", cwd=clone)
    hook = scene.git("rev-parse", "HEAD~1", "HEAD").split()
    scene.record("cli/init/hook", "init", "--hook", "pre-receive", cwd=bare)
    pushed = f"{hook[0]} {hook[1]} refs/heads/main\n"
    scene.record(
        "cli/verify/pre-receive", "verify", "--pre-receive", "--mode", "strict", cwd=bare, stdin=pushed
    )


def crash(scene: Scene) -> None:
    """Killed while a command of a plan runs."""
    scene.make_project()
    scene.configure('run:\n  allowed: ["sh *", "touch *"]\n')
    key = scene.list_key()
    run = [{"kind": "run", "argv": ["sh", "-c", "touch made; while [ ! -e go ]; do sleep 0.1; done"]}]
    scene.do("propose", scene.write("run.md", "Wait\n"), "--specs", scene.write("run.json", json.dumps(run)))
    scene.record("cli/show/command", "show", "p1")
    scene.do("approve", "p1", "--sign", key)
    scene.record("cli/recover/nothing", "recover")
    scene.program.tick()
    argv = [str(scene.program.ringi), "execute", "p1"]
    child = subprocess.Popen(argv, cwd=scene.project, env=scene.variables, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    while not (scene.project / "made").exists() and child.poll() is None:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    scene.forms("cli/recover", "recover")
    scene.refuse("cli/recover", "recover", "p1", "--done", "s9")
    scene.refuse("cli/recover", "recover", "p1", "--done", "s1", form="refusal-nobody")
    scene.record("cli/recover/done", "recover", "p1", "--done", "s1", answers=[])
    scene.record("cli/log/crash", "log", "p1")
