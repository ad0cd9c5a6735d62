"""What a person could type: the examples at the end of each command's help."""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": (
        "ringi init",
        "ringi init --agents claude,codex",
        "ringi init --agents zed",
        "ringi init --ci github",
        "source <(ringi init --completion bash)",
    ),
    "doctor": ("ringi doctor", "ringi doctor --repair", "ringi doctor --clear-cache"),
    "trust": ("ringi trust", "ringi trust --show"),
    "config": ("ringi config show", "ringi config signers"),
    "config show": ("ringi config show",),
    "config check": ("ringi config check",),
    "config signers": (
        "ringi config signers",
        "ringi config signers --accept",
        "ringi config signers --proof signed",
    ),
    "mcp": ("ringi mcp",),
    "hook": ("ringi hook claude",),
    "hook claude": ("ringi hook claude",),
    "help": ("ringi help", "ringi help undo", "ringi help --all"),
    "with": ("ringi with claude", "ringi with --check 'make test' codex", "ringi with --resume p3"),
    "acp": ("ringi acp -- opencode acp", "ringi acp --check 'make test' -- gemini --acp"),
    "review": (
        "ringi review",
        "ringi review p3 --plain",
        "ringi review agent/login",
        "ringi review main..agent/login",
        "ringi review ../project-agent",
    ),
    "apply": ("ringi apply p3", "ringi apply p3 --commit", "ringi apply p3 --sign ~/.ssh/id_ed25519"),
    "discard": ("ringi discard p3", "ringi discard p3 --reason 'the same as p2'"),
    "undo": ("ringi undo", "ringi undo p3", "ringi undo p3 --commit"),
    "plan": ("ringi plan 'Sort the list by date'", "ringi plan --resume 1f3a"),
    "run": (
        'ringi run "Add --json to the report"',
        "ringi run --request requests/RQ-20251214-001.md",
        "ringi run --outline 'Add an install section to README.md'",
        "ringi run --context - < issue.md",
    ),
    "continue": ("ringi continue", "ringi continue --retry --with claude"),
    "feedback": (
        'ringi feedback "Keep the old option, too"',
        'ringi feedback 20251214-210501 "Shorter, please"',
    ),
    "watch": ("ringi watch", "ringi watch --once 20251214-210501"),
    "cancel": ("ringi cancel",),
    "status": ("ringi status", "ringi status 20251214-210501"),
    "report": ("ringi report",),
    "propose": (
        "ringi propose --patch fix.diff",
        "ringi propose --file README.md=new.md --title 'Say less'",
        "ringi propose --fork p3 --version 1",
    ),
    "specs": ("ringi specs p3", "ringi specs p3 --file specs.json"),
    "show": (
        "ringi show p3",
        "ringi show p3 --diff",
        "ringi show p3 --since",
        "ringi show p3 --compare 1..2",
    ),
    "check": (
        "ringi check planning.json",
        "ringi check requests/RQ-20251214-001.md",
        "ringi check --schema plan",
    ),
    "amend": (
        "ringi amend p3 --drop setup.cfg",
        "ringi amend p3 --drop 'src/app.py#2' --seen 1",
        "ringi amend p3 --write src/app.py=app.py",
        "ringi amend p3 --comment src/app.py:14 'Keep the old name.'",
        "ringi amend p3 --revert 1",
    ),
    "request": ("ringi request p3", "ringi request p3 --pending"),
    "approve": (
        "ringi approve p3",
        "ringi approve p3 --only s1",
        "ringi approve p3 --seen 2 --sign ~/.ssh/id_ed25519",
    ),
    "reject": ("ringi reject p3 --feedback 'Keep the old name.'",),
    "execute": ("ringi execute p3", "ringi execute p3 --dry-run"),
    "grant": ("ringi grant list", "ringi grant revoke g1"),
    "grant new": ("ringi grant new --for with:claude --path 'docs/**' --sign ~/.ssh/id_ed25519",),
    "grant list": ("ringi grant list",),
    "grant revoke": ("ringi grant revoke g1",),
    "list": ("ringi list", "ringi list --pending", "ringi list --status discarded"),
    "current": ("ringi current", "ringi current --clear"),
    "state": ("ringi state capture", "ringi state show"),
    "state capture": ("ringi state capture",),
    "state show": ("ringi state show",),
    "state push": ("ringi state push editor.json",),
    "verify": ("ringi verify", "ringi verify p3", "ringi verify main..feature --mode agents --reviews"),
    "why": ("ringi why src/app.py:42",),
    "sync": ("ringi sync", "ringi sync upstream --no-push"),
    "log": ("ringi log", "ringi log p3", "ringi log --verify"),
    "metrics": ("ringi metrics", "ringi metrics --since 7d"),
    "recover": ("ringi recover",),
}


def epilog(name: str, heading: str) -> str:
    """Lines that click does not fold."""
    lines = "\n".join(f"  {line}" for line in EXAMPLES.get(name, ()))
    return f"\b\n{heading}\n{lines}" if lines else ""
