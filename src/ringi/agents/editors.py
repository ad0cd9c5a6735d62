"""The editors that start an agent over the Agent Client Protocol, and what makes them start it through ringi.

All of them keep that in the user's own files: Zed reads `agent_servers` only from there, not from a project's
.zed/settings.json. So nothing is written here; the entry is shown. docs/editors says where each fact is from.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ringi.agents.record import AgentFile
from ringi.kernel.text import Text


class EditorAgent(NamedTuple):
    """An agent as an editor starts it."""

    agent: str
    """Its name in our table."""
    title: str
    words: Sequence[str]
    """From ringi on."""


class Editor(NamedTuple):
    name: str
    title: str
    file: AgentFile
    """Where its entries usually are."""
    entry: Callable[[Sequence[EditorAgent]], str]
    note: Text


def _servers(more: Mapping[str, Any]) -> Callable[[Sequence[EditorAgent]], str]:
    def entry(started: Sequence[EditorAgent]) -> str:
        servers = {
            f"{one.title} (ringi)": {**more, "command": one.words[0], "args": [*one.words[1:]]}
            for one in started
        }
        return json.dumps({"agent_servers": servers}, indent=2, ensure_ascii=False)

    return entry


# The names of CodeCompanion's adapters and of avante.nvim's providers.
_ADAPTERS: Final = {"claude": "claude_code", "gemini": "gemini_cli"}
_PROVIDERS: Final = {"claude": "claude-code", "gemini": "gemini-cli"}


# Adapters with a second command, that of /command yolo: it must not start the agent without ringi.
_YOLO: Final = frozenset(["claude", "gemini"])


def _lua(started: Sequence[EditorAgent]) -> str:
    """Either plugin may be missing."""
    first = started[0].agent
    lines = ['if pcall(require, "codecompanion") then', '  require("codecompanion").setup({']
    lines += [f'    interactions = {{ chat = {{ adapter = "{_ADAPTERS.get(first, first)}" }} }},']
    lines += ["    adapters = {", "      acp = {"]
    for one in started:
        name = _ADAPTERS.get(one.agent, one.agent)
        commands = {"default": one.words, **({"yolo": [*one.words, "--yolo"]} if one.agent in _YOLO else {})}
        lines += [
            f"        {name} = function()",
            f'          return require("codecompanion.adapters").extend("{name}", {{',
            "            commands = {",
            *(f"              {key} = {{ {_join_quoted(words, ', ')} }}," for key, words in commands.items()),
            "            },",
            "          })",
            "        end,",
        ]
    lines += [
        "      },",
        "    },",
        "  })",
        "end",
        'if pcall(require, "avante") then',
        '  require("avante").setup({',
    ]
    lines += [f'    provider = "{_PROVIDERS.get(first, first)}",', "    acp_providers = {"]
    for one in started:
        name = _PROVIDERS.get(one.agent, one.agent)
        command, args = _quote(one.words[0]), _join_quoted(one.words[1:], ", ")
        # By itself it passes on nothing but PATH, not even HOME.
        more = "env = vim.fn.environ()"
        lines.append(f'      ["{name}"] = {{ command = {command}, args = {{ {args} }}, {more} }},')
    return "\n".join([*lines, "    },", "  })", "end"])


_COMMANDS: Final = {
    "claude": "agent-shell-anthropic-claude-acp-command",
    "codex": "agent-shell-openai-codex-acp-command",
    "gemini": "agent-shell-google-gemini-acp-command",
}


def _lisp(started: Sequence[EditorAgent]) -> str:
    lines = ["(with-eval-after-load 'agent-shell"]
    for one in started:
        name = _COMMANDS.get(one.agent, f"agent-shell-{one.agent}-acp-command")
        lines += [f"  (setq {name}", f"        '({_join_quoted(one.words, ' ')}))"]
    return "\n".join(lines) + ")"


def _join_quoted(words: Sequence[str], between: str) -> str:
    return between.join(map(_quote, words))


def _quote(word: str) -> str:
    """As Lua and Lisp read it, too."""
    escaped = "".join(f"\\{c}" if c in '"\\' else c for c in word)
    return f'"{escaped}"'


EDITORS: Final[Mapping[str, Editor]] = {
    editor.name: editor
    for editor in (
        Editor(
            "zed",
            "Zed",
            AgentFile("{config}/zed/settings.json"),
            _servers({"type": "custom"}),
            Text("Then choose it in the Agent Panel, under +."),
        ),
        Editor(
            "jetbrains",
            "JetBrains",
            AgentFile(".jetbrains/acp.json"),
            # The IDE's own server has tools that write to the checkout.
            _servers({"use_idea_mcp": False}),
            Text("Then choose it in the AI Chat, where the agents are."),
        ),
        Editor(
            "neovim",
            "Neovim",
            AgentFile("{config}/nvim/init.lua"),
            _lua,
            Text("Then open a chat with :CodeCompanionChat or :AvanteChat."),
        ),
        Editor(
            "emacs",
            "Emacs",
            AgentFile(".emacs.d/init.el"),
            _lisp,
            Text("Then start it with M-x agent-shell."),
        ),
    )
}
