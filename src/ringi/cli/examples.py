"""What a person could type: the examples at the end of each command's help."""

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": ("ringi init", "ringi init --agents claude,codex"),
    "doctor": ("ringi doctor", "ringi doctor --repair"),
    "trust": ("ringi trust", "ringi trust --show"),
    "signers": ("ringi signers", "ringi signers --accept", "ringi signers --proof signed"),
    "config": ("ringi config show", "ringi config check"),
    "config show": ("ringi config show",),
    "config check": ("ringi config check",),
    "mcp": ("ringi mcp",),
    "hook": ("ringi hook claude",),
    "hook claude": ("ringi hook claude",),
    "hook claude-shell": ("ringi hook claude-shell",),
    "completion": (
        "source <(ringi completion bash)",
        "source <(ringi completion zsh)",
        "ringi completion fish | source",
    ),
    "with": ("ringi with claude", "ringi with --check 'make test' codex", "ringi with --resume p3"),
    "review": (
        "ringi review",
        "ringi review p3 --plain",
        "ringi review agent/login",
        "ringi review main..agent/login",
        "ringi review ../project-agent",
        "ringi review stash@{0}",
    ),
    "apply": ("ringi apply p3", "ringi apply p3 --commit"),
    "discard": ("ringi discard p3", "ringi discard p3 --reason 'the same as p2'"),
    "undo": ("ringi undo", "ringi undo p3", "ringi undo p3 --commit"),
    "plan": ("ringi plan 'Sort the list by date'", "ringi plan --resume 1f3a"),
    "run": ('ringi run "Add --json to the report"', "ringi run --request requests/RQ-20251214-001.md"),
    "continue": ("ringi continue",),
    "retry": ("ringi retry",),
    "cancel": ("ringi cancel",),
    "status": ("ringi status", "ringi status 20251214-210501"),
    "report": ("ringi report",),
    "propose": ("ringi propose --patch fix.diff", "ringi propose --file README.md=new.md --title 'Say less'"),
    "specs": ("ringi specs p3", "ringi specs p3 --file specs.json"),
    "show": ("ringi show p3", "ringi show p3 --diff", "ringi show p3 --since"),
    "check": ("ringi check planning.json", "ringi check requests/RQ-20251214-001.md"),
    "request": ("ringi request p3",),
    "approve": ("ringi approve p3", "ringi approve p3 --only s1"),
    "reject": ("ringi reject p3 --feedback 'Keep the old name.'",),
    "execute": ("ringi execute p3", "ringi execute p3 --dry-run"),
    "grant": ("ringi grant list", "ringi grant revoke g1"),
    "grant new": ("ringi grant new --for with:claude --path 'docs/**' --sign ~/.ssh/id_ed25519",),
    "grant list": ("ringi grant list",),
    "grant revoke": ("ringi grant revoke g1",),
    "list": ("ringi list", "ringi list --status discarded"),
    "fork": ("ringi fork p3",),
    "revert": ("ringi revert p3 1",),
    "compare": ("ringi compare p3 1 2", "ringi compare p3 1 --with p4"),
    "pending": ("ringi pending", "ringi pending p3 --off"),
    "current": ("ringi current", "ringi current --clear"),
    "outline": ("ringi outline 'Add an install section to README.md'", "ringi outline - < issue.md"),
    "context": ("ringi context 'Sort the list by date'", "ringi context --tokens 6000 - < issue.md"),
    "state": ("ringi state capture", "ringi state show"),
    "state capture": ("ringi state capture",),
    "state show": ("ringi state show",),
    "state push": ("ringi state push editor.json",),
    "schema": ("ringi schema", "ringi schema plan"),
    "verify": ("ringi verify", "ringi verify p3", "ringi verify main..feature --mode agents"),
    "why": ("ringi why src/app.py:42",),
    "sync": ("ringi sync", "ringi sync upstream --no-push"),
    "log": ("ringi log", "ringi log p3", "ringi log --verify"),
    "recover": ("ringi recover",),
}


def epilog(name: str, heading: str) -> str:
    """Lines that click does not fold."""
    lines = "\n".join(f"  {line}" for line in EXAMPLES.get(name, ()))
    return f"\b\n{heading}\n{lines}" if lines else ""
