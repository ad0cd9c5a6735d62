"""The agents we know, one record each. To add an agent, add a record here.

The facts come from the agent's own documentation or source; docs/design/0023 and the comments say where.
A record without state and entries is only for recognising that the agent started us.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from ringi.agents.claude_state import claude_state
from ringi.agents.command_line import (
    CONVERSATION,
    MESSAGE,
    OPTIONS,
    OUTER,
    WORDS,
    CommandLine,
    OwnSandbox,
    Resume,
)
from ringi.agents.output import dict_at, parse_claude, parse_codex, parse_gemini, parse_plain
from ringi.agents.record import (
    FILES,
    Agent,
    AgentFile,
    AgentTrust,
    Hook,
    Mcp,
    Model,
    Presence,
    SettingsFile,
    Unattended,
)
from ringi.kernel.text import Text

# Codex passes a server only the variables that are named. These say where the ledger is, and
# whether it runs below `ringi with`.
_SERVER_VARIABLES: Final = (
    "RINGI_WITH", "RINGI_MCP_SOCKET", "RINGI_STATE_DIR", "RINGI_CACHE_DIR", "RINGI_CONFIG",
    "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
)  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _server(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": [*command[1:]]}


# What Claude Code 2.1 runs or obeys outside of a conversation, below its folder.
_CLAUDE_SETTINGS: Final[Mapping[str, bytes | None]] = {
    "settings.json": b"{}\n", "settings.local.json": b"{}\n", "CLAUDE.md": b"", "keybindings.json": b"{}\n",
    "agents": None, "commands": None, "hooks": None, "output-styles": None, "plugins": None, "rules": None,
    "skills": None, "workflows": None,
}  # fmt: skip


# As a model, 2.1.240 (CHANGELOG.md of claude-code, claude_agent_sdk's subprocess_cli.py and types.py):
#   --print                   one answer, no screen; the prompt comes from standard input
#   --output-format json      one object: type, result, is_error, usage, total_cost_usd, api_error_status
#   --tools ""                no built-in tool at all; in a copy those that read
#   --disallowedTools         no reading: words such as @file in a prompt would put that file into it
#   --strict-mcp-config       no MCP server but those of --mcp-config, and there is none
#   --setting-sources user    nothing from folders above; the user's own may be what logs it in
#   --disable-slash-commands  no command or skill by a word in the prompt
#   --no-session-persistence  nothing to resume is left behind
#   CLAUDE_CODE_SAFE_MODE     no CLAUDE.md, hooks, plugins, skills; not --bare, which logs out as well
_CLAUDE_FLAGS: Final = _words(
    "--allow-dangerously-skip-permissions --ax-screen-reader --bare --bg --background --brief --chrome -c "
    "--continue --dangerously-skip-permissions --desktop --disable-slash-commands "
    "--exclude-dynamic-system-prompt-sections --fork-session --forward-subagent-text -h --help --ide "
    "--include-hook-events --include-partial-messages --no-chrome --no-session-persistence -p --print "
    "--replay-user-messages --restricted --safe-mode --strict-mcp-config --tmux --verbose -v --version"
)  # fmt: skip
_CLAUDE_ASKED: Final = (
    "--print", "--output-format", "json", "--strict-mcp-config", "--setting-sources", "user",
    "--disable-slash-commands", "--no-session-persistence",
)  # fmt: skip
_CLAUDE: Final = Agent(
    name="claude",
    title="Claude Code",
    acp=("claude-agent-acp",),
    variables=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_CHILD_SESSION"),
    private=("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT"),
    processes=("claude",),
    packages=("@anthropic-ai/claude-code",),
    conversations="projects/*/*.jsonl",
    state=(
        AgentFile(".claude", "CLAUDE_CONFIG_DIR", sealed=_CLAUDE_SETTINGS),
        AgentFile(".claude.json", unless="CLAUDE_CONFIG_DIR", content=b"{}\n", back=claude_state),
        AgentFile("{state}/claude"),
        AgentFile("{cache}/claude-cli-nodejs"),
    ),
    resume=Resume(
        CommandLine(
            flags=_CLAUDE_FLAGS,
            several=_words(
                "--add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools --betas "
                "--file --mcp-config --tools"
            ),
            spent=_words(
                "-p --print -c --continue -r --resume --session-id --fork-session --from-pr --teleport -w "
                "--worktree --tmux --file --replay-user-messages"
            ),
            once=_words("-p --print"),
            own=_words(
                "-h --help -v --version --bg --background --cloud --desktop agents attach auth auto-mode "
                "doctor gateway import install logs mcp plugin plugins purge respawn rm setup-token stop "
                "kill ultrareview update upgrade"
            ),
        ),
        # An option that takes several values would swallow a message that follows it.
        screen=(CONVERSATION, MESSAGE, OPTIONS),
        once=("--print", CONVERSATION, OPTIONS, "--", WORDS),
        last=("--continue",),
        named=("--resume",),
    ),
    unattended=Unattended(
        ("--allowedTools", "Bash", "--permission-mode", "acceptEdits"),
        _words("--permission-mode --dangerously-skip-permissions --allowedTools --allowed-tools"),
    ),
    model=Model(
        words=("claude", *_CLAUDE_ASKED, "--tools", "", "--disallowedTools", "Read(//**)"),
        reading=("claude", *_CLAUDE_ASKED, "--tools", "Read,Glob,Grep"),
        read=parse_claude,
        environment={"CLAUDE_CODE_SAFE_MODE": "1"},
    ),
    presence=Presence(("claude",), (".claude",), (".claude", ".mcp.json")),
    mcp=Mcp(
        files=(".mcp.json",),
        holder=("mcpServers",),
        # It waits for such a server before the first turn, and lists its tools without a search.
        server=lambda command: {**_server(command), "alwaysLoad": True},
    ),
    settings=SettingsFile(
        # For one person on one machine. In settings.json everybody would get it with the next pull,
        # and it would block every edit of those who do not have ringi. Claude Code also takes the
        # approval of a server from this file, as long as git does not track it.
        file=".claude/settings.local.json",
        # Longer than the hook ever takes; on timeout the agent itself blocks (since 2.1.295).
        hook=Hook("claude", "PreToolUse", "Edit|Write|MultiEdit|NotebookEdit", 10),
        listed={("permissions", "allow"): "mcp__ringi", ("enabledMcpjsonServers",): "ringi"},
        note=Text(
            "From now on Claude Code edits in work copies only. That file is yours alone: keep it out of git."
        ),
    ),
)  # fmt: skip


def _codex_trusts(text: str, root: str) -> bool:
    try:
        return dict_at(dict_at(tomllib.loads(text), "projects"), root).get("trust_level") == "trusted"
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


_CODEX_SETTINGS: Final[Mapping[str, bytes | None]] = {
    "config.toml": b"", "hooks.json": b"{}\n", "AGENTS.md": b"", "agents": None, "hooks": None,
    "plugins": None, "prompts": None, "rules": None,
}  # fmt: skip


# As a model, August 2026 (codex-rs/exec/src/cli.rs, exec_events.rs, features/src/lib.rs of openai/codex):
#   exec … -                  one answer; the prompt comes from standard input. It never asks for approval
#   --json                    events as lines: item.completed with an agent_message, turn.completed with usage
#   --sandbox read-only       commands could write nothing
#   -c features.…=false       no commands; a version that does not know the feature ignores it. In a copy it
#                             reads by commands, which ours keeps from writing and its own from the network
#   --ignore-user-config      no MCP servers, hooks, profiles; the login is kept elsewhere
#   --ignore-rules            no rules that allow commands
#   -c project_doc_max_bytes  no AGENTS.md
#   --ephemeral               no file of the session
#   --skip-git-repo-check     the empty folder is no repository
# Skills that it unpacks itself, and a program that it keeps running, with the socket that leads to it.
_CODEX_PROGRAMS: Final = ("skills", "packages", "app-server-daemon", "app-server-control")
_CODEX_LINE: Final = CommandLine(
    flags=_words(
        "--strict-config --oss --approve-for-me --dangerously-bypass-approvals-and-sandbox "
        "--dangerously-bypass-hook-trust --worktree --skip-git-repo-check --ephemeral "
        "--ignore-user-config --ignore-rules --json --search --no-alt-screen --no-daemon --last --all "
        "--full-auto --yolo -h --help -V --version"
    ),
    several=_words("-i --image"),
    spent=_words("-i --image --last --all --worktree --thread-source"),
    # Before `exec` it knows these, after it not.
    outer=_words(
        "-a --ask-for-approval --search --no-alt-screen --no-daemon --remote --remote-auth-token-env"
    ),
    modes=_words("exec e resume fork"),
    once=_words("exec e"),
    own=_words(
        "-h --help -V --version agents review login logout mcp plugin app-server remote-control completion "
        "update doctor sandbox debug apply a queue archive delete migrate-rollouts migrate-nfs-db unarchive "
        "cloud exec-server features help"
    ),
)  # fmt: skip
_CODEX_ASKED: Final = (
    "--ignore-user-config", "--ignore-rules", "-c", "project_doc_max_bytes=0", "--ephemeral",
    "--skip-git-repo-check", "-",
)  # fmt: skip
_CODEX: Final = Agent(
    name="codex",
    title="Codex",
    acp=("codex-acp",),
    variables=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"),
    processes=("codex",),
    packages=("@openai/codex",),
    state=(
        AgentFile(".codex", "CODEX_HOME", sealed=_CODEX_SETTINGS),
        AgentFile(".codex", "CODEX_SQLITE_HOME", sealed=_CODEX_SETTINGS),
        *(AgentFile(f".codex/{name}", "CODEX_HOME", below=name, layer=True) for name in _CODEX_PROGRAMS),
    ),
    conversations="sessions/*/*/*/rollout-*.jsonl",
    resume=Resume(
        _CODEX_LINE,
        screen=(OUTER, OPTIONS, CONVERSATION, MESSAGE),
        once=(OUTER, "exec", OPTIONS, CONVERSATION, "--", WORDS),
        last=("resume", "--last"),
        named=("resume",),
    ),
    # exec asks for nothing, and by itself only reads.
    unattended=Unattended(
        ("--sandbox", "workspace-write"),
        _words("-s --sandbox --approve-for-me --full-auto --yolo --dangerously-bypass-approvals-and-sandbox"),
    ),
    own_sandbox=OwnSandbox(
        option=_words("-s --sandbox --approve-for-me"),
        kept=_words("read-only"),
        off=("-c", "sandbox_mode=danger-full-access"),
    ),
    model=Model(
        words=(
            "codex", "exec", "--json", "--sandbox", "read-only", "-c", "features.shell_tool=false",
            "-c", "features.unified_exec=false", *_CODEX_ASKED,
        ),
        reading=("codex", "exec", "--json", "--sandbox", "read-only", *_CODEX_ASKED),
        read=parse_codex,
    ),
    presence=Presence(("codex",), (".codex",), (".codex",)),
    mcp=Mcp(
        files=(".codex/config.toml",),
        holder=("mcp_servers",),
        # An optional server gets about a second to start; the tools ask a person themselves.
        server=lambda command: {
            **_server(command),
            "env_vars": [*_SERVER_VARIABLES],
            "required": True,
            "default_tools_approval_mode": "approve",
        },
        note=Text(
            "Codex starts in this project only if ringi does: keep that file out of git unless all have it."
        ),
    ),
    trust=AgentTrust(
        AgentFile(".codex/config.toml", "CODEX_HOME", below="config.toml"),
        _codex_trusts,
        lambda root: (f"[projects.{json.dumps(root, ensure_ascii=False)}]", 'trust_level = "trusted"'),
        lambda file: Text(
            "Codex reads .codex/config.toml only in projects that it trusts. Start codex here and say yes,"
            " or add to {file}:",
            file=file,
        ),
    ),
)  # fmt: skip

# An editor with agents: people work in its terminals too, so it has no signs of recognition.
_VSCODE: Final = Agent(
    name="vscode",
    title="VS Code",
    presence=Presence(("code", "code-insiders", "codium"), (".vscode",), (".vscode",)),
    mcp=Mcp(
        files=(".vscode/mcp.json",),
        holder=("servers",),
        server=lambda command: {"type": "stdio", **_server(command)},
        note=Text("VS Code asks once whether it may start the server."),
    ),
)


_GEMINI_SETTINGS: Final[Mapping[str, bytes | None]] = {
    "settings.json": b"{}\n", "trustedFolders.json": b"{}\n", "GEMINI.md": b"", "agents": None,
    "commands": None, "extensions": None, "hooks": None, "policies": None, "skills": None,
}  # fmt: skip


# As a model, August 2026 (docs/cli, docs/reference/policy-engine.md, packages/cli/src/config/config.ts):
#   --output-format json      one object: response, stats.models.*.tokens; error on standard error
#   --approval-mode default   without a terminal, what would have to be approved is denied. Not plan: it can
#                             leave that mode by itself, and then does everything without asking
#   --policy FILE             denies every tool, or all but those that read, whatever the settings allow
#   --extensions none         none of them
#   --allowed-mcp-server-names  a name that no server has
#   GEMINI_CLI_TRUST_WORKSPACE  the empty folder is trusted; otherwise it refuses to start
_GEMINI_ASKED: Final = (
    "--output-format", "json", "--approval-mode", "default", "--extensions", "none",
    "--allowed-mcp-server-names", "none",
)  # fmt: skip
_GEMINI_RULE: Final = '[[rule]]\ntoolName = "{}"\ndecision = "{}"\npriority = {}\n'
_GEMINI_DENIED: Final = _GEMINI_RULE.format("*", "deny", 998)
_GEMINI_READS: Final = (
    "read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content",
)  # fmt: skip
_GEMINI_RULES: Final = [_GEMINI_RULE.format(name, "allow", 999) for name in _GEMINI_READS]
_GEMINI: Final = Agent(
    name="gemini",
    title="Gemini CLI",
    acp=("gemini", "--acp"),
    variables=("GEMINI_CLI",),
    private=("GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH"),
    processes=("gemini",),
    packages=("@google/gemini-cli",),
    state=(AgentFile(".gemini", "GEMINI_CLI_HOME", below=".gemini", sealed=_GEMINI_SETTINGS),),
    resume=Resume(
        CommandLine(
            flags=_words(
                "-d --debug -s --sandbox -y --yolo --skip-trust --acp --experimental-acp "
                "--list-extensions -l --list-sessions --screen-reader --raw-output "
                "--accept-raw-output-risk -v --version -h --help"
            ),
            spent=_words("-r --resume -w --worktree --session-id --acp --experimental-acp"),
            message=_words("-p --prompt -i --prompt-interactive"),
            once=_words("-p --prompt"),
            own=_words(
                "-h --help -v --version -l --list-extensions --list-sessions --delete-session --acp "
                "--experimental-acp mcp extensions extension skills skill hooks hook gemma"
            ),
        ),
        screen=(OPTIONS, CONVERSATION, "--prompt-interactive", MESSAGE),
        once=(OPTIONS, CONVERSATION, f"--prompt={MESSAGE}"),
        last=("--resume", "latest"),
        named=("--resume",),
    ),
    # auto_edit would deny it every command, the tests as well.
    unattended=Unattended(("--approval-mode", "yolo"), _words("--approval-mode -y --yolo")),
    model=Model(
        words=("gemini", *_GEMINI_ASKED, "--policy", f"{FILES}/no-tools.toml"),
        reading=("gemini", *_GEMINI_ASKED, "--policy", f"{FILES}/reading.toml"),
        read=parse_gemini,
        environment={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        files={
            "no-tools.toml": _GEMINI_DENIED,
            "reading.toml": "".join([*_GEMINI_RULES, _GEMINI_DENIED]),
        },
    ),
    presence=Presence(("gemini",), (".gemini",), (".gemini",)),
    mcp=Mcp(
        files=(".gemini/settings.json",),
        holder=("mcpServers",),
        # trust: it calls the tools without asking; they ask a person themselves.
        server=lambda command: {**_server(command), "trust": True},
        note=Text("Gemini CLI asks once whether it trusts this folder, and reads that file only then."),
    ),
)  # fmt: skip

_OPENCODE: Final = Agent(
    name="opencode",
    title="OpenCode",
    acp=("opencode", "acp"),
    variables=("OPENCODE", "OPENCODE_SESSION_ID"),
    processes=("opencode",),
    packages=("opencode-ai",),
    state=(
        AgentFile("{data}/opencode", sealed={"bin": None}),
        # Repositories that it uses outside as well: a hook in one would run there.
        AgentFile("{data}/opencode/snapshot", layer=True),
        AgentFile("{state}/opencode"),
        # Packages that it installs for providers and plugins, and its settings.
        AgentFile("{cache}/opencode", layer=True),
        AgentFile("{config}/opencode", layer=True),
    ),
    resume=Resume(
        CommandLine(
            flags=_words(
                "--print-logs --pure -c --continue --fork --share --thinking -i --interactive --auto "
                "--dangerously-skip-permissions --mdns --mini --no-replay -h --help -v --version"
            ),
            several=_words("-f --file --cors"),
            spent=_words("-c --continue -s --session --fork --title --command -f --file -i --interactive"),
            outer=_words("--mini --no-replay --replay-limit --hostname --mdns --mdns-domain --cors"),
            message=_words("--prompt"),
            modes=_words("run"),
            once=_words("run"),
            own=_words(
                "-h --help -v --version --command completion acp mcp attach debug providers auth agent "
                "upgrade uninstall serve web models stats export import github pr session plugin plug db"
            ),
            files="--dir=",
        ),
        # Its screen drops a message that comes together with --continue.
        screen=("run", CONVERSATION, OPTIONS, "--", MESSAGE),
        once=("run", CONVERSATION, OPTIONS, "--", MESSAGE),
        last=("--continue",),
        named=("--session",),
    ),
    # Without a terminal, what its settings ask about is denied. What they deny stays denied.
    unattended=Unattended(("--auto",), _words("--auto --dangerously-skip-permissions")),
    presence=Presence(
        ("opencode",),
        (".config/opencode", ".opencode"),
        (".opencode", "opencode.json", "opencode.jsonc"),
    ),
    mcp=Mcp(
        files=("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        holder=("mcp",),
        # Its second version keeps them one level deeper, and reads both.
        newer_holder=("mcp", "servers"),
        server=lambda command: {"type": "local", "command": [*command]},
        # opencode itself adds the schema to a file without one.
        opening={"$schema": "https://opencode.ai/config.json"},
    ),
)

# Sets no variable for what it starts.
_AIDER: Final = Agent(
    name="aider",
    title="Aider",
    processes=("aider",),
    state=(AgentFile(".aider"),),
    resume=Resume(
        CommandLine(
            spent=_words("--restore-chat-history --no-restore-chat-history --load"),
            message=_words("-m --message --msg -f --message-file"),
            once=_words("-m --message --msg -f --message-file"),
            own=_words(
                "-h --help --version --list-models --models --just-check-update --install-main-branch "
                "--upgrade --update --commit --lint --test --apply --apply-clipboard-edits --exit "
                "--show-repo-map --show-prompts --shell-completions --gui --browser --load"
            ),
            files="",
        ),
        screen=(CONVERSATION, "--message", MESSAGE, OPTIONS),
        once=(CONVERSATION, "--message", MESSAGE, OPTIONS),
        last=("--restore-chat-history",),
    ),
    unattended=Unattended(("--yes-always",), _words("--yes --yes-always")),
    ignored=(".aider*",),
)

_RECOGNISED: Final = (
    Agent("qwen", "Qwen Code", ("QWEN_CODE",), processes=("qwen",), packages=("@qwen-code/qwen-code",)),
    Agent("cursor", "Cursor", ("CURSOR_AGENT",), processes=("cursor-agent",)),
    Agent(
        "copilot", "Copilot", ("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
        processes=("copilot",), packages=("@github/copilot",),
    ),
    Agent("goose", "Goose", ("GOOSE_TERMINAL",), processes=("goose",)),
    Agent("amp", "Amp", ("AMP_CURRENT_THREAD_ID",), processes=("amp",), packages=("@sourcegraph/amp",)),
    Agent("augment", "Augment", ("AUGMENT_AGENT",), processes=("auggie",)),
    Agent("cline", "Cline", ("CLINE_ACTIVE",), processes=("cline",)),
    Agent("roo", "Roo Code", ("ROO_ACTIVE",)),
    Agent("crush", "Crush", ("CRUSH",), processes=("crush",)),
    Agent("iflow", "iFlow", ("IFLOW_CLI",), processes=("iflow",)),
    Agent("pi", "Pi", ("PI_CODING_AGENT",)),
    Agent("antigravity", "Antigravity", ("ANTIGRAVITY_AGENT",)),
    Agent("trae", "Trae", ("TRAE_AI_SHELL_ID",)),
    Agent("windsurf", "Windsurf", ("WINDSURF_CASCADE_TERMINAL",)),
    Agent("droid", "Droid", processes=("droid",)),
    Agent("kiro", "Kiro", processes=("kiro-cli-chat",)),
    Agent("openhands", "OpenHands", processes=("openhands",)),
    Agent("q", "Amazon Q", processes=("qchat",)),
)  # fmt: skip

AGENTS: Final[Mapping[str, Agent]] = {
    agent.name: agent for agent in (_CLAUDE, _CODEX, _VSCODE, _GEMINI, _OPENCODE, _AIDER, *_RECOGNISED)
}
CONFIGURABLE: Final[Mapping[str, Agent]] = {name: agent for name, agent in AGENTS.items() if agent.mcp}
"""Agents that `ringi init` can set up."""
PLAIN: Final = Model((), parse_plain, streams=True)
ANY: Final = Agent("", "", model=PLAIN)
"""Any other command: unknown state, no message, its output is its answer."""


# Programs that let an editor speak with an agent: they share its state, not its command line.
_ADAPTERS: Final[Mapping[str, Agent]] = {
    name: agent._replace(resume=None, own_sandbox=None, unattended=None)
    for agent, names in (
        (_CLAUDE, ("claude-agent-acp", "claude-code-acp")),
        (_CODEX, ("codex-acp",)),
    )
    for name in names
}
_RUNNERS: Final = frozenset(["npx", "bunx", "pnpx", "node", "bun"])


def agent_of(argv: Sequence[str]) -> Agent:
    """By the program's name, in any folder."""
    name = PurePosixPath(argv[0]).name if argv else ""
    # npx -y @agentclientprotocol/claude-agent-acp@1.0
    named = argv if name in _RUNNERS else argv[:1]
    for word in named:
        if adapter := _ADAPTERS.get(PurePosixPath(word).name.partition("@")[0]):
            return adapter
    found = AGENTS.get(name)
    return found if found is not None and found.resume else ANY


def model_of(name: str) -> Model | None:
    """None if there is no such agent, or it cannot be used as a model."""
    agent = AGENTS.get(name)
    return agent.model if agent else None
