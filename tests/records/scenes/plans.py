"""Plans by script: proposed, changed, approved, carried out, taken back."""

import json

from tests.records.scene import FIX, TITLE, Scene

SPECS = json.dumps([{"kind": "write", "path": "notes.md", "content": "It adds.\n"}])
TWO = json.dumps(
    [{"kind": "create", "path": f"{name}.md", "content": f"{name}\n"} for name in ("one", "two")]
)
BOTH = FIX + TITLE
TEXT = """\
# Fix the sum

It subtracts today.

```diff
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
```
"""
YES = [(r"\[y/n\]", "y")]


def propose(scene: Scene) -> None:
    """Making plans and looking at them."""
    scene.make_project()
    scene.record("cli/list/empty", "list")
    patch = scene.write("both.patch", BOTH)
    scene.forms("cli/propose", "propose", "--title", "Fix the sum", "--patch", patch)
    scene.refuse(
        "cli/propose", "propose", "--title", "Broken", "--patch", scene.write("x.patch", "not a diff\n")
    )
    scene.refuse("cli/propose", "propose", "--file", "../out.txt=calc.py", form="refusal-outside")
    scene.refuse("cli/propose", "propose", form="usage")
    scene.record("cli/propose/extract", "propose", scene.write("PLAN.md", TEXT), "--extract")
    scene.record("cli/propose/files", "propose", "--file", f"notes.md={patch}", "--delete", "README.md")
    fix = scene.write("fix.patch", FIX)
    scene.record("cli/propose/change-plan", "propose", "--trigger", "error", "--patch", fix,
                 "--diagnostic", "calc.py:2:it subtracts", "--title", "Mend it")  # fmt: skip
    scene.forms("cli/show", "show", "p1")
    scene.record("cli/show/diff", "show", "p1", "--diff")
    for form in ("review", "change-plan", "workspace-edit", "patch"):
        scene.record(f"cli/show/as-{form}", "show", "p4" if form == "change-plan" else "p1", "--as", form)
    scene.refuse("cli/show", "show", "p99")
    scene.refuse("cli/show", "--json", "show", "p99", form="refusal-json")
    scene.refuse("cli/show", "--lang", "ja", "show", "p99", form="refusal-japanese")
    scene.forms("cli/list", "list")
    scene.refuse("cli/list", "list", "--status", "lost")
    scene.forms("cli/current", "current")
    scene.forms("cli/list-pending", "list", "--pending")
    scene.record("cli/request/no-pending", "request", "p3", "--no-pending")
    scene.refuse("cli/list-pending", "request", "--pending", "p99")
    scene.record(
        "cli/ringi/success",
    )
    scene.record("cli/ringi/json", "--json")
    scene.record("cli/ringi/japanese", "--lang", "ja")
    scene.refuse("cli/ringi", "nonsense")
    scene.record("cli/current/clear", "current", "--clear")
    scene.record("cli/current/nothing", "current")
    scene.refuse("cli/current", "current", "more")


def change(scene: Scene) -> None:
    """New versions of plans."""
    scene.make_project()
    scene.propose(BOTH)
    new = scene.write("new.md", "# Sums\n")
    specs = scene.write("specs.json", SPECS)
    scene.forms("cli/specs", "specs", "p1")
    scene.refuse("cli/specs", "specs", "p1", "--file", scene.write("bad.json", "[1]"))
    scene.forms("cli/amend", "amend", "p1", "--drop", "calc.py", "--write", f"README.md={new}",
                "--comment", "README.md:1", "Shorter?")  # fmt: skip
    scene.refuse("cli/amend", "amend", "p1", "--seen", "1", "--drop", "README.md")
    scene.record("cli/specs/set", "specs", "p1", "--file", specs)
    scene.forms("cli/show-compare", "show", "p1", "--compare", "1..2")
    scene.refuse("cli/show-compare", "show", "p1", "--compare", "9")
    scene.forms("cli/amend-revert", "amend", "p1", "--revert", "1")
    scene.refuse("cli/amend-revert", "amend", "p1", "--revert", "9")
    scene.forms("cli/propose-fork", "propose", "--fork", "p1", "--version", "3")
    scene.refuse("cli/propose-fork", "propose", "--fork", "p9")
    scene.forms("cli/reject", "reject", "p1", "--feedback", "Keep the title.")
    scene.refuse("cli/reject", "reject", "p9", "--feedback", "No.")
    scene.forms("cli/discard", "discard", "p2", "--reason", "not needed")
    scene.refuse("cli/discard", "discard", "p2")
    scene.refuse("cli/amend", "amend", "p2", "--drop", "notes.md", form="refusal-discarded")
    scene.refuse("cli/execute", "execute", "p2", form="refusal-discarded")


def approve(scene: Scene) -> None:
    """Signed, carried out, proved and taken back."""
    scene.make_project()
    scene.propose(BOTH)
    key, other = scene.list_key(), scene.make_key("other")
    scene.refuse("cli/execute", "execute", "p1")
    scene.refuse("cli/execute", "--json", "execute", "p1", form="refusal-json")
    scene.refuse("cli/approve", "approve", "p1")
    scene.refuse("cli/approve", "approve", "p1", "--sign", other, form="refusal-signature")
    scene.refuse("cli/approve", "approve", "p1", "--sign", key, "--seen", "2", form="refusal-seen")
    scene.forms("cli/request", "request", "p1")
    scene.refuse("cli/request", "request", "p9")
    with scene.rewinding():
        scene.forms("cli/apply", "apply", "p1", "--sign", key)
        scene.refuse("cli/apply", "apply", "p9", "--sign", key)
    with scene.rewinding():
        scene.refuse("cli/approve", "approve", "p1", "--only", "s1", "--sign", key, form="refusal-group")
        text, specs = scene.write("two.md", "Two notes\n"), scene.write("two.json", TWO)
        scene.do("propose", text, "--specs", specs)
        scene.record("cli/approve/only", "approve", "p2", "--only", "s1", "--sign", key)
        scene.record("cli/execute/part", "execute", "p2")
    scene.forms("cli/approve", "approve", "p1", "--sign", key, "--note", "Looks right.")
    with scene.rewinding():
        (scene.project / "calc.py").write_text("def add(a, b):\n    return b - a\n")
        scene.refuse("cli/execute", "execute", "p1", form="refusal-stale")
    scene.record("cli/execute/dry-run", "execute", "p1", "--dry-run")
    scene.forms("cli/execute", "execute", "p1")
    scene.record("cli/execute/again", "execute", "p1")
    scene.forms("cli/verify", "verify", "p1")
    scene.refuse("cli/verify", "verify", "p9")
    scene.forms("cli/log", "log", "p1")
    scene.record("cli/log/verify", "log", "--verify")
    scene.refuse("cli/log", "log", "p9")
    scene.record("cli/show/since", "show", "p1", "--since")
    with scene.rewinding():
        (scene.project / "calc.py").write_text("print(1)\n")
        scene.record("cli/verify/changed-since", "verify", "p1")
        scene.refuse("cli/undo", "undo", "p1", "--sign", key, form="refusal-conflict")
    scene.refuse("cli/undo", "undo", "p1")
    scene.forms("cli/undo", "undo", "p1", "--sign", key)
    scene.refuse("cli/undo", "undo", "p1", "--sign", key, form="refusal-undone")


def typed(scene: Scene) -> None:
    """The same answers typed at a terminal, and a commit."""
    scene.make_project()
    scene.propose(BOTH)
    scene.record("cli/approve/typed", "approve", "p1", answers=YES)
    scene.do("execute", "p1")
    scene.record("cli/undo/typed", "undo", "p1", answers=YES)
    scene.propose(FIX, "Fix it again")
    scene.record("cli/apply/declined", "apply", "p2", answers=[(r"\[q\]uit", "q")])
    scene.record(
        "cli/apply/commit", "apply", "p2", "--commit", answers=[(r"\[q\]uit", "a"), ("The line instead", "")]
    )
    scene.record("cli/undo/commit", "undo", "p2", "--commit", answers=YES)


def grants(scene: Scene) -> None:
    """Standing approvals."""
    scene.make_project()
    key = scene.list_key()
    scene.propose(FIX, "Not covered")
    scene.forms("cli/grant-new", "grant", "new", "--for", "user:person", "--path", "*.md", "--sign", key)
    scene.refuse("cli/grant-new", "grant", "new", "--for", "nobody", "--path", "*.md", "--sign", key)
    scene.forms("cli/grant-list", "grant", "list")
    scene.refuse("cli/grant-list", "grant", "list", "more")
    scene.propose(TITLE, "Covered")
    scene.record("cli/request/covered", "request", "p2")
    scene.record("cli/request/not-covered", "request", "p1")
    scene.do("execute", "p2")
    scene.record("cli/verify/grant", "verify", "p2")
    grant = scene.do("grant", "list").out.split()[0]
    scene.forms("cli/grant-revoke", "grant", "revoke", grant, "--reason", "enough")
    scene.refuse("cli/grant-revoke", "grant", "revoke", "g7")
