"""Setting up: the workspace, its configuration, what is trusted; documents and their schemas."""

import json

from tests.records.scene import FIX, FORMS, Scene

YES = [(r"\[y/n\]", "y")]
CONFIG = """\
approval:
  expires_sec: 3600
checks:
  before: ["python3 test_calc.py"]
"""
# An agent that asks the hook before it edits a file of its copy.
CLAUDE = """\
#!/bin/sh
printf '{"hook_event_name": "PreToolUse", "tool_name": "Edit", "session_id": "s", "cwd": "%s", "tool_input": \
{"file_path": "%s/calc.py", "old_string": "a", "new_string": "b"}}' "$PWD" "$PWD" | RINGI "$@" hook claude
echo "the hook ends with $?"
"""


def start(scene: Scene) -> None:
    """A folder becomes a workspace."""
    scene.make_project()
    scene.record("cli/ringi/nothing")
    scene.forms("cli/help", "help")
    scene.refuse("cli/help", "help", "nonsense")
    scene.forms("cli/init", "init")
    scene.refuse("cli/init", "init", "--agents", "nobody")
    scene.record("cli/init/agents", "init", "--agents", "claude,codex,vscode,gemini,opencode")
    scene.record("cli/init/editors", "init", "--agents", "zed,jetbrains,neovim,emacs")
    scene.record("cli/init/ci-github", "init", "--ci", "github", "--install", "ringi==1")
    scene.record("cli/init/ci-gitlab", "init", "--ci", "gitlab", "--install", "ringi==1")
    key = scene.make_key()
    scene.refuse("cli/init", "init", "--key", f"{key}.pub", form="refusal-key")
    scene.record("cli/init/key", "init", "--key", f"{key}.pub", "--as", "person@example.invalid", answers=YES)
    scene.forms("cli/doctor", "doctor")
    scene.refuse("cli/doctor", "doctor", "--nonsense")
    scene.forms("cli/config-signers", "config", "signers")
    scene.record("cli/config-signers/accept", "config", "signers", "--accept")
    scene.refuse("cli/config-signers", "config", "signers", "--proof", "signed")
    scene.record("cli/config-signers/proof", "config", "signers", "--proof", "signed", "--sign", key)
    for shell in ("bash", "zsh", "fish"):
        scene.record(
            f"cli/init-completion/{'success' if shell == 'bash' else shell}", "init", "--completion", shell
        )
    scene.record("cli/init-completion/json", "--json", "init", "--completion", "bash")
    scene.record("cli/init-completion/japanese", "--lang", "ja", "init", "--completion", "bash")
    scene.refuse("cli/init-completion", "init", "--completion", "csh")
    scene.forms("cli/doctor-cache", "doctor", "--cache")
    scene.refuse("cli/doctor-cache", "doctor", "--cache", "nonsense")
    scene.forms("cli/doctor-clear-cache", "doctor", "--clear-cache")
    scene.refuse("cli/doctor-clear-cache", "doctor", "--clear-cache", "more")
    with scene.rewinding():
        moved = scene.world / "elsewhere"
        scene.project.rename(moved)
        scene.make_project({"a.txt": "a\n"})
        scene.record("cli/doctor/moved", "doctor", cwd=moved)


def settings(scene: Scene) -> None:
    """Configuration and trust."""
    scene.make_project()
    scene.do("init")
    (scene.project / ".agent" / "config.yaml").write_text(CONFIG)
    scene.forms("cli/config-show", "config", "show")
    scene.refuse("cli/config-show", "config", "show", "more")
    scene.forms("cli/config-check", "config", "check")
    scene.record("cli/trust/show", "trust", "--show")
    scene.refuse("cli/trust", "trust")
    scene.forms("cli/trust", "trust", answers=[(r"(?:type |には )([0-9a-f]{6})", r"\1")])
    scene.record("cli/trust/revoke", "trust", "--revoke")
    (scene.project / ".agent" / "config.yaml").write_text("approval:\n  expires_sec: soon\nnonsense: 1\n")
    scene.refuse("cli/config-check", "config", "check")
    scene.refuse("cli/config-check", "--json", "config", "check", form="refusal-json")
    scene.record("cli/list/wrong-configuration", "list")
    with scene.rewinding():
        (scene.project / ".agent" / "config.yaml").unlink()
        scene.configure("model: openai:gpt\nlimits:\n  max_file_bytes: 10\n")
        scene.record("cli/config-show/own", "config", "show")
        scene.refuse("cli/propose", "propose", "--patch", scene.write("fix.patch", FIX), form="refusal-limit")


def documents(scene: Scene) -> None:
    """Documents of every kind, looked at."""
    scene.make_project()
    specs = scene.write("specs.json", json.dumps([{"kind": "write", "path": "a.md", "content": "a\n"}]))
    scene.forms("cli/check", "check", specs)
    scene.refuse("cli/check", "check", scene.write("bad.json", '[{"kind": "write"}]'))
    scene.refuse(
        "cli/check", "--json", "check", scene.write("bad.json", '[{"kind": "write"}]'), form="refusal-json"
    )
    request = scene.do("run", "--new-request", "Sort the list")
    scene.record("cli/run/new-request", "run", "--new-request", "Sort it")
    name = next(path.name for path in sorted((scene.project / "requests").iterdir()))
    scene.record("cli/check/request", "check", f"requests/{name}")
    scene.forms("cli/check-schema", "check", "--schema", "plan")
    scene.refuse("cli/check-schema", "check", "--schema", "nonsense")
    scene.forms("cli/state-capture", "state", "capture")
    scene.refuse("cli/state-capture", "state", "capture", "more")
    scene.forms("cli/state-show", "state", "show")
    scene.refuse("cli/state-show", "state", "show", "more")
    pushed = {"editor": "recorder", "unsaved": ["calc.py"]}
    scene.forms("cli/state-push", "state", "push", scene.write("editor.json", json.dumps(pushed)))
    scene.refuse("cli/state-push", "state", "push", scene.write("bad.json", "[]"))
    scene.forms("cli/run-context", "run", "--context", "make add right in calc.py")
    scene.refuse("cli/run-context", "run", "--context", "--models", "x")
    scene.forms("cli/run-outline", "run", "--outline", "Add an install section to README.md")
    scene.refuse("cli/run-outline", "run", "--outline", "x")
    scene.forms("cli/metrics", "metrics")
    scene.refuse("cli/metrics", "metrics", "--since", "tomorrow")
    agent = str(scene.world / "claude.sh")
    scene.write("claude.sh", CLAUDE.replace("RINGI", str(scene.program.ringi)), 0o755)
    for form, words in FORMS.items():
        with scene.rewinding():
            scene.record(f"cli/hook-claude/{form}", "with", "--", agent, *words)
    scene.refuse("cli/hook-claude", "hook", "claude", stdin=hook(scene, "calc.py"))
    scene.record("cli/hook-claude/nonsense", "hook", "claude", stdin="not JSON")
    assert request


def hook(scene: Scene, path: str) -> str:
    return json.dumps({
        "hook_event_name": "PreToolUse", "tool_name": "Edit", "session_id": "s", "cwd": str(scene.project),
        "tool_input": {"file_path": str(scene.project / path), "old_string": "a", "new_string": "b"},
    })  # fmt: skip
