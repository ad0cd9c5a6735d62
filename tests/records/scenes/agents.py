"""Beside an agent: it works in a copy, a person looks at what it changed."""

from tests.records.scene import Scene

MENU = r"\[q\]"
AGENT = """\
#!/bin/sh
if [ -n "$RINGI_FEEDBACK" ]; then
  echo "agent: I was told"
  printf 'It adds.\\nAnd tells you.\\n' > notes.md
  exit 0
fi
echo "agent: at work"
sed -i 's/a - b/a + b/' calc.py
echo 'It adds.' > notes.md
"""
EDITOR = "#!/bin/sh\nsed -i 's/It adds/It adds well/' \"$1\"\n"
YES = [(r"\[y/n\]", "y")]


def beside(scene: Scene) -> None:
    """An agent in a copy, and everything that a review can do with its plan."""
    scene.make_project()
    agent = str(scene.world / "agent.sh")
    scene.write("agent.sh", AGENT, 0o755)
    editor = {"EDITOR": "sh ../editor.sh"}
    scene.write("editor.sh", EDITOR, 0o755)
    scene.write("failing.sh", "#!/bin/sh\nexit 7\n", 0o755)
    scene.forms("cli/with", "with", "--check", "python3 test_calc.py", "--", agent)
    scene.refuse("cli/with", "with")
    scene.refuse("cli/with", "with", "--", str(scene.world / "failing.sh"), form="failed")
    scene.refuse("cli/with", "with", "--check", "false", "--", agent, form="check-failed")
    scene.do("discard", "p2")
    scene.refuse("cli/review", "review", "p1")
    with scene.rewinding():
        scene.record("cli/review/success", "review", "p1", "--plain", answers=[(MENU, "a")])
        scene.record("cli/review/undo", "undo", answers=YES)
    with scene.rewinding():
        scene.record("cli/review/json", "--json", "review", "p1", "--plain", answers=[(MENU, "a")])
    with scene.rewinding():
        scene.record("cli/review/japanese", "--lang", "ja", "review", "p1", "--plain", answers=[(MENU, "a")])
    with scene.rewinding():
        drop = [(MENU, "d"), (r"1 to 2:", "2"), (MENU, "a")]
        scene.record("cli/review/drop", "review", "p1", "--plain", answers=drop)
    with scene.rewinding():
        edit = [(MENU, "e"), (r"your editor:", "2"), (MENU, "q")]
        scene.record("cli/review/edit", "review", "p1", "--plain", answers=edit, **editor)
    reject = [(MENU, "r"), (r"change\?", "Say more."), (r"\[y/n\]", "n")]
    scene.record("cli/review/reject", "review", "p1", "--plain", answers=reject)
    scene.record("cli/with/resume", "with", "--resume", "p1")
    scene.record("cli/review/commit", "review", "p1", "--plain", "--commit",
                 answers=[(MENU, "a"), ("The line instead", "")])  # fmt: skip
    scene.git("switch", "-q", "-c", "topic")
    (scene.project / "notes.md").write_text("Less.\n")
    scene.git("commit", "-qam", "Say less")
    scene.git("switch", "-q", "main")
    scene.record("cli/review/branch", "review", "topic", "--plain", answers=[(MENU, "q")])
    scene.refuse("cli/review", "review", "nowhere", form="refusal-branch")
    scene.refuse("cli/with", "with", "--resume", "p9", form="refusal-resume")
    scene.record("cli/approve/below-an-agent", "approve", "p1", CLAUDECODE="1", answers=[])
